import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import type { Account } from './find-postgres.ts'
import type { Watchdog, WatchedProcess } from './guard.ts'

export interface LaunchOptions {
  /** File to which the output is appended. */
  readonly logFile: string
  readonly directory: string
  readonly account?: Account | undefined
  readonly environment: NodeJS.ProcessEnv
  /** Stops the process if this one is killed. */
  readonly watchdog: Watchdog
  readonly watched: WatchedProcess
}

/**
 * Starts a process in its own process group, so that Ctrl-C reaches only this process, which stops
 * the others in order.
 */
export function spawnDetached(
  [program = '', ...args]: readonly string[],
  options: LaunchOptions,
): ChildProcess {
  const { logFile, directory, account, environment, watchdog, watched } = options
  const log = openSync(logFile, 'a', 0o600)
  try {
    const child = spawn(program, args, {
      ...account,
      cwd: directory,
      env: environment,
      stdio: ['ignore', log, log],
      detached: true,
    })
    // After a failed start there is no exit event and no PID.
    child.on('error', () => undefined)
    watchdog.add(child, watched)
    return child
  } finally {
    closeSync(log)
  }
}

export function isAlive({ pid, exitCode, signalCode }: ChildProcess): boolean {
  return pid !== undefined && exitCode === null && signalCode === null
}

/** Stops a process gracefully, or kills it after the time limit. */
export async function stopChild(
  child: ChildProcess,
  { signal, withinMs }: { readonly signal: NodeJS.Signals; readonly withinMs: number },
): Promise<void> {
  if (!isAlive(child)) return
  const exited = once(child, 'exit')
  // A process paused by SIGSTOP would not handle the signal.
  child.kill('SIGCONT')
  child.kill(signal)
  const timer = new AbortController()
  const timedOut = wait(withinMs, true, { signal: timer.signal }).catch(() => false)
  if (await Promise.race([exited.then(() => false), timedOut])) {
    child.kill('SIGKILL')
    await exited
  }
  timer.abort()
}
