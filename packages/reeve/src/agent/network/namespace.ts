import { access } from 'node:fs/promises'
import { errorMessage } from '@reeve/kit/fault.ts'
import type { RunNetworkCommand } from './run-command.ts'

/** Directory of named network namespaces. */
export const NAMESPACES_DIR = '/run/netns'

/** Creates a network namespace named after the allocation, with loopback up. */
export async function createNamespace(run: RunNetworkCommand, allocationId: string): Promise<void> {
  await run('ip', ['netns', 'add', allocationId])
  await run('ip', ['-n', allocationId, 'link', 'set', 'lo', 'up'])
}

/** Deletes the namespace. Idempotent. One that a process still uses only loses its name. */
export async function deleteNamespace(run: RunNetworkCommand, allocationId: string): Promise<void> {
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
