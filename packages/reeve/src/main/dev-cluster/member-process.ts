import type { ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { getCompileCacheDir } from 'node:module'
import type { Guard, GuardStage } from './guard.ts'
import { endChild, isAlive, launch } from './launch.ts'

const ENTRY = fileURLToPath(new URL('../reeve.ts', import.meta.url))
/** A node ends its tasks first, each with its own time to do so. */
const STOP_MS_MAX = 20_000

/** One agent of the cluster: how it is started, again and again. */
export interface MemberPlan {
  /** `server-1`, `node-1`. */
  readonly name: string
  /** Of `reeve agent`. */
  readonly flags: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  readonly directory: string
  readonly logFile: string
  readonly stage: GuardStage
  readonly guard: Guard
}

/** How it ended without having been asked to. */
export interface Ending {
  /** `SIGKILL`, `exit code 1`. */
  readonly how: string
  /** By somebody else; one that ends by itself has a reason, which its log tells. */
  readonly wasKilled: boolean
}

/** An agent in a process of its own. */
export class MemberProcess {
  readonly plan: MemberPlan
  readonly #ended: (member: MemberProcess, ending: Ending) => void
  #child: ChildProcess | undefined
  #startedMs = 0
  #isStopping = false

  /** `ended` is told when it ends without having been asked to. */
  constructor(plan: MemberPlan, ended: (member: MemberProcess, ending: Ending) => void) {
    this.plan = plan
    this.#ended = ended
  }

  get pid(): number {
    return this.#child?.pid ?? 0
  }

  get isAlive(): boolean {
    return this.#child !== undefined && isAlive(this.#child)
  }

  /** Since it was started. */
  get ageMs(): number {
    return performance.now() - this.#startedMs
  }

  start(): void {
    const { flags, environment, directory, logFile, guard, stage } = this.plan
    const cache = getCompileCacheDir()
    const child = launch([process.execPath, ...process.execArgv, ENTRY, 'agent', ...flags], {
      logFile,
      directory,
      guard,
      guarded: { stage, signal: 'TERM' },
      environment: {
        ...foreignVariables(),
        ...(cache !== undefined && { NODE_COMPILE_CACHE: cache }),
        ...environment,
      },
    })
    this.#child = child
    this.#startedMs = performance.now()
    child.once('exit', (code, signal) => {
      if (this.#isStopping) return
      this.#ended(this, { how: signal ?? `exit code ${code}`, wasKilled: signal !== null })
    })
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    if (this.#child === undefined) return
    await endChild(this.#child, { signal: 'SIGTERM', withinMs: STOP_MS_MAX })
  }
}

/** Without the settings of agents that were meant for others: these are told all they need. */
function foreignVariables(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('REEVE_'))
  return Object.fromEntries(kept)
}
