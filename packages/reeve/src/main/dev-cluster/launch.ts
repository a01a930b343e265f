import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import type { Account } from './find-postgres.ts'
import type { Guard, Guarded } from './guard.ts'

export interface Launch {
  /** What it writes is added here. */
  readonly logFile: string
  readonly directory: string
  readonly account?: Account | undefined
  readonly environment: NodeJS.ProcessEnv
  /** Ends it when we are killed. */
  readonly guard: Guard
  readonly guarded: Guarded
}

/**
 * Starts a process of a group of its own: Ctrl-C reaches only us, and we end the others in order.
 */
export function launch([program = '', ...args]: readonly string[], options: Launch): ChildProcess {
  const { logFile, directory, account, environment, guard, guarded } = options
  const log = openSync(logFile, 'a', 0o600)
  try {
    const child = spawn(program, args, {
      ...account,
      cwd: directory,
      env: environment,
      stdio: ['ignore', log, log],
      detached: true,
    })
    // One that could not be started has no exit; its pid is undefined.
    child.on('error', () => undefined)
    guard.watch(child, guarded)
    return child
  } finally {
    closeSync(log)
  }
}

export function isAlive({ pid, exitCode, signalCode }: ChildProcess): boolean {
  return pid !== undefined && exitCode === null && signalCode === null
}

/** Asks it to end; ends it when it does not within that time. */
export async function endChild(
  child: ChildProcess,
  { signal, withinMs }: { readonly signal: NodeJS.Signals; readonly withinMs: number },
): Promise<void> {
  if (!isAlive(child)) return
  const gone = once(child, 'exit')
  // One that is stopped (SIGSTOP) would hear nothing.
  child.kill('SIGCONT')
  child.kill(signal)
  const late = new AbortController()
  const isLate = wait(withinMs, true, { signal: late.signal }).catch(() => false)
  if (await Promise.race([gone.then(() => false), isLate])) {
    child.kill('SIGKILL')
    await gone
  }
  late.abort()
}
