import { execFileSync } from 'node:child_process'
import * as os from 'node:os'
import { postgresVersion } from '../../packages/reeve/test/build/postgres.ts'
import { PAGE } from './options.ts'
import type { Machine, ProofEnvironment } from './page.ts'

const BYTES_PER_GIB = 1024 ** 3

export function describeCheckout(root: string): ProofEnvironment {
  const git = (...args: readonly string[]): string | undefined =>
    outputOf('git', ['-C', root, ...args])
  // A run writes the page itself.
  const status = git('status', '--porcelain', '--untracked-files=no', '--', '.', `:!${PAGE}`)
  return {
    commit: git('rev-parse', 'HEAD') ?? 'unknown',
    isModified: status !== '',
    machine: describeMachine(),
  }
}

/** Where the experiments run; their directories are temporary ones. */
function describeMachine(): Machine {
  return {
    cores: os.availableParallelism(),
    processor: os.cpus()[0]?.model.trim() ?? 'unknown',
    memoryGiB: Math.round(os.totalmem() / BYTES_PER_GIB),
    fileSystem: `${outputOf('stat', ['-f', '--format=%T', os.tmpdir()]) ?? 'unknown'} (${os.tmpdir()})`,
    system: `${os.type()} ${os.release()} ${os.machine()}`,
    node: process.versions.node,
    postgres: postgresVersion(),
    load: os.loadavg()[0] ?? 0,
  }
}

/** Undefined when the program is missing or fails. */
function outputOf(command: string, args: readonly string[]): string | undefined {
  try {
    return execFileSync(command, args, {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim()
  } catch {
    return undefined
  }
}
