import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { getCompileCacheDir } from 'node:module'
import { setTimeout as wait } from 'node:timers/promises'
import type { Account } from './find-postgres.ts'
import type { Watchdog, WatchdogStage, WatchedProcess } from './watchdog.ts'

const PROGRAM_ENTRY = fileURLToPath(new URL('../reeve.ts', import.meta.url))
/** Time limit for stopping; a node stops its tasks first. */
const STOP_TIMEOUT_MS = 20_000

/** How to start an agent of the cluster. */
export interface ChildAgentSpec {
  /** `server-1`, `node-1`. */
  readonly name: string
  /** Flags of `reeve agent`. */
  readonly flags: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  readonly directory: string
  readonly logFile: string
  readonly stage: WatchdogStage
  readonly watchdog: Watchdog
}

/** An unexpected exit. */
export interface ExitInfo {
  /** `SIGKILL`, `exit code 1`. */
  readonly description: string
  /** Whether it was killed by a signal; otherwise its log contains the reason. */
  readonly wasKilled: boolean
}

/** An agent as a child process. */
export class ChildAgent {
  readonly spec: ChildAgentSpec
  readonly #onExit: (member: ChildAgent, ending: ExitInfo) => void
  #child: ChildProcess | undefined
  #startedMs = 0
  #isStopping = false

  /** `ended` is called after an unexpected exit. */
  constructor(plan: ChildAgentSpec, ended: (member: ChildAgent, ending: ExitInfo) => void) {
    this.spec = plan
    this.#onExit = ended
  }

  get pid(): number {
    return this.#child?.pid ?? 0
  }

  get isAlive(): boolean {
    return this.#child !== undefined && isAlive(this.#child)
  }

  /** Time since the start. */
  get ageMs(): number {
    return performance.now() - this.#startedMs
  }

  start(): void {
    const { flags, environment, directory, logFile, watchdog, stage } = this.spec
    const cache = getCompileCacheDir()
    const child = spawnDetached(
      [process.execPath, ...process.execArgv, PROGRAM_ENTRY, 'agent', ...flags],
      {
        logFile,
        directory,
        watchdog,
        watched: { stage, signal: 'TERM' },
        environment: {
          ...inheritedEnvironment(),
          ...(cache !== undefined && { NODE_COMPILE_CACHE: cache }),
          ...environment,
        },
      },
    )
    this.#child = child
    this.#startedMs = performance.now()
    child.once('exit', (code, signal) => {
      if (this.#isStopping) return
      this.#onExit(this, { description: signal ?? `exit code ${code}`, wasKilled: signal !== null })
    })
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    if (this.#child === undefined) return
    await stopChild(this.#child, { signal: 'SIGTERM', withinMs: STOP_TIMEOUT_MS })
  }
}

/**
 * The environment without the settings for agents, because members are configured by flags only.
 */
function inheritedEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('REEVE_'))
  return Object.fromEntries(kept)
}

interface LaunchOptions {
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
