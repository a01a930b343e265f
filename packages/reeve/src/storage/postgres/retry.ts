import { setTimeout as wait } from 'node:timers/promises'
import { isPassing, toPostgresFault, unansweredFault } from './postgres-faults.ts'

const FIRST_WAIT_MS = 20
const WAIT_MS_MAX = 250

/** A database that restarts is back within this time, or somebody has to look at it. */
const GIVE_UP_MS = 60_000

/** How long a commit may wait for the database: the default of `server.commit_timeout`. */
export const COMMIT_MS_MAX = 15_000

/** How time passes for it; a simulation hands in its own. */
export interface RetryTiming {
  nowMs(): number
  /** Resolves after the time, or when the signal is given. */
  wait(ms: number, signal: AbortSignal): Promise<void>
}

const SYSTEM_TIMING: RetryTiming = {
  nowMs: () => performance.now(),
  wait: (ms, signal) => wait(ms, undefined, { signal }).catch(() => undefined),
}

/** Asks again while what goes wrong may pass: a restart of the database must not end the server. */
export class Retry {
  readonly #name: string
  readonly #giveUpMs: number
  readonly #timing: RetryTiming
  readonly #stopped = new AbortController()

  constructor(options: {
    readonly name: string
    readonly giveUpMs?: number
    readonly timing?: RetryTiming
  }) {
    this.#name = options.name
    this.#giveUpMs = options.giveUpMs ?? GIVE_UP_MS
    this.#timing = options.timing ?? SYSTEM_TIMING
  }

  /** Nothing is asked again from now on. */
  stop(): void {
    this.#stopped.abort()
  }

  /**
   * `attempt` has to be safe to run again: it is told whether an earlier run may have happened.
   * Rejects with a Fault.
   */
  async run<T>(doing: string, attempt: Attempt<T>): Promise<T> {
    const { signal } = this.#stopped
    return await this.#attempt(attempt, { doing, giveUpMs: this.#giveUpMs, signal })
  }

  /**
   * The same with another time, which is over even while an attempt hangs: then it rejects with
   * `storage-unanswered`, and whether that attempt succeeds is open.
   */
  async runWithin<T>(ms: number, doing: string, attempt: Attempt<T>): Promise<T> {
    const ended = new AbortController()
    const { signal } = ended
    // What was given up is not asked for again.
    const unlessEnded: Attempt<T> = async (isInDoubt) => {
      if (signal.aborted) throw unansweredFault(this.#name, ms)
      return await attempt(isInDoubt)
    }
    const attempting = this.#attempt(unlessEnded, { doing, giveUpMs: Infinity, signal })
    // Nobody waits for an attempt that ends late.
    attempting.catch(() => undefined)
    const late = this.#timing.wait(ms, signal).then((): typeof LATE => LATE)
    try {
      const result = await Promise.race([attempting, late])
      if (result === LATE) throw unansweredFault(this.#name, ms)
      return result
    } finally {
      ended.abort()
    }
  }

  async #attempt<T>(attempt: Attempt<T>, { doing, giveUpMs, signal }: AttemptOptions): Promise<T> {
    const untilMs = this.#timing.nowMs() + giveUpMs
    let isInDoubt = false
    for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * 2, WAIT_MS_MAX)) {
      try {
        return await attempt(isInDoubt)
      } catch (thrown) {
        const isEnded = signal.aborted || this.#stopped.signal.aborted
        const isOver = isEnded || this.#timing.nowMs() + waitMs > untilMs
        if (isOver || !isPassing(thrown)) throw toPostgresFault(thrown, this.#name, doing)
        isInDoubt = true
      }
      // Being stopped while waiting ends the wait; the next attempt is the last.
      await this.#timing.wait(waitMs, signal)
    }
  }
}

type Attempt<T> = (isInDoubt: boolean) => Promise<T>

interface AttemptOptions {
  readonly doing: string
  readonly giveUpMs: number
  readonly signal: AbortSignal
}

const LATE = Symbol('late')
