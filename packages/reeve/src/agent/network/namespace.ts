import { access } from 'node:fs/promises'
import { errorMessage } from '@reeve/kit/fault.ts'
import type { RunCommand } from './run-command.ts'

/** Where the kernel's namespaces have names. */
export const NAMESPACES_DIR = '/run/netns'

/** A network namespace under the name of the allocation. Its loopback is up. */
export async function createNamespace(run: RunCommand, allocationId: string): Promise<void> {
  await run('ip', ['netns', 'add', allocationId])
  await run('ip', ['-n', allocationId, 'link', 'set', 'lo', 'up'])
}

/** Idempotent. A namespace that a process still uses stays without its name. */
export async function deleteNamespace(run: RunCommand, allocationId: string): Promise<void> {
  await run('ip', ['netns', 'delete', allocationId]).catch((thrown: unknown) => {
    if (!/No such file/.test(errorMessage(thrown))) throw thrown
  })
}

export function hasNamespace(namespacePath: string): Promise<boolean> {
  return access(namespacePath).then(
    () => true,
    () => false,
  )
}
