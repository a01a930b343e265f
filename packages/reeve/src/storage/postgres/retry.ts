import { setTimeout as wait } from 'node:timers/promises'
import { isTransient, toPostgresFault, commitTimeoutFault } from './postgres-faults.ts'

const FIRST_RETRY_DELAY_MS = 20
const RETRY_DELAY_MS_MAX = 250

/** A restarting database is back within this time; otherwise an operator must act. */
const RETRY_TIMEOUT_MS = 60_000

/** How long a commit may wait for the database; default of `server.commit_timeout`. */
export const DEFAULT_COMMIT_TIMEOUT_MS = 15_000

/** Clock and timer; a simulation passes its own. */
export interface RetryClock {
  nowMs(): number
  /** Resolves after the time or when the signal is aborted. */
  wait(ms: number, signal: AbortSignal): Promise<void>
}

const SYSTEM_TIMING: RetryClock = {
  nowMs: () => performance.now(),
  wait: (ms, signal) => wait(ms, undefined, { signal }).catch(() => undefined),
}

/** Retries transient errors, so that a restart of the database does not end the server. */
export class Retry {
  readonly #name: string
  readonly #timeoutMs: number
  readonly #timing: RetryClock
  readonly #abort = new AbortController()

  constructor(options: {
    readonly name: string
    readonly giveUpMs?: number
    readonly timing?: RetryClock
  }) {
    this.#name = options.name
    this.#timeoutMs = options.giveUpMs ?? RETRY_TIMEOUT_MS
    this.#timing = options.timing ?? SYSTEM_TIMING
  }

  /** Stops all retries. */
  stop(): void {
    this.#abort.abort()
  }

  /**
   * `attempt` must be safe to repeat: its argument says whether an earlier run may have taken
   * effect. Rejects with a Fault.
   */
  async run<T>(operation: string, attempt: Attempt<T>): Promise<T> {
    const { signal } = this.#abort
    return await this.#attempt(attempt, { operation, timeoutMs: this.#timeoutMs, signal })
  }

  /**
   * Like `run`, with a timeout that also ends a hanging attempt: then it rejects with
   * `storage-unanswered`, and the outcome of that attempt is unknown.
   */
  async runWithin<T>(timeoutMs: number, operation: string, attempt: Attempt<T>): Promise<T> {
    const ended = new AbortController()
    const { signal } = ended
    // Do not retry after the timeout.
    const unlessEnded: Attempt<T> = async (isInDoubt) => {
      if (signal.aborted) throw commitTimeoutFault(this.#name, timeoutMs)
      return await attempt(isInDoubt)
    }
    const attempting = this.#attempt(unlessEnded, { operation, timeoutMs: Infinity, signal })
    // Late results are ignored.
    attempting.catch(() => undefined)
    const timeout = this.#timing.wait(timeoutMs, signal).then((): typeof TIMED_OUT => TIMED_OUT)
    try {
      const result = await Promise.race([attempting, timeout])
      if (result === TIMED_OUT) throw commitTimeoutFault(this.#name, timeoutMs)
      return result
    } finally {
      ended.abort()
    }
  }

  async #attempt<T>(
    attempt: Attempt<T>,
    { operation, timeoutMs, signal }: AttemptOptions,
  ): Promise<T> {
    const deadlineMs = this.#timing.nowMs() + timeoutMs
    let mayHaveRun = false
    for (let waitMs = FIRST_RETRY_DELAY_MS; ; waitMs = Math.min(waitMs * 2, RETRY_DELAY_MS_MAX)) {
      try {
        return await attempt(mayHaveRun)
      } catch (thrown) {
        const isEnded = signal.aborted || this.#abort.signal.aborted
        const isFinal = isEnded || this.#timing.nowMs() + waitMs > deadlineMs
        if (isFinal || !isTransient(thrown)) throw toPostgresFault(thrown, this.#name, operation)
        mayHaveRun = true
      }
      // Stopping ends the wait; the next attempt is the last.
      await this.#timing.wait(waitMs, signal)
    }
  }
}

type Attempt<T> = (isInDoubt: boolean) => Promise<T>

interface AttemptOptions {
  readonly operation: string
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

const TIMED_OUT = Symbol('late')
