/** How a task restarts after its process was killed on request. */
export type RestartMode =
  /** Immediately, without using up an attempt. */
  | 'at-once'
  /** As after a failure: the restart policy decides. */
  | 'by-policy'
  /** When its schedule opens again, without using up an attempt. */
  | 'by-schedule'
  /** From its start gate, with the whole group. */
  | 'from-gate'

interface PendingRestart {
  readonly reason: string
  readonly mode: RestartMode
}

/**
 * Requested restarts that the runner has not processed yet. Requests before the kill are fulfilled
 * by the same kill; the mode with the highest precedence wins.
 */
export class PendingRestarts {
  #pending: PendingRestart | undefined
  #requested = Promise.withResolvers<void>()
  #completed = Promise.withResolvers<void>()

  /** Resolves at the next request, immediately if one is pending. */
  get requested(): Promise<void> {
    return this.#requested.promise
  }

  get pending(): PendingRestart | undefined {
    return this.#pending
  }

  /** Whether a pending request already covers this one. */
  isCovered(restart: PendingRestart): boolean {
    const pending = this.#pending
    return pending !== undefined && PRECEDENCE[restart.mode] <= PRECEDENCE[pending.mode]
  }

  /** Resolves when the old process has ended; rejects if it could not be killed. */
  request(restart: PendingRestart): Promise<void> {
    if (!this.isCovered(restart)) this.#pending = restart
    this.#requested.resolve()
    return this.#completed.promise
  }

  /** Resolves the request: the process has ended, or the task ends for good. */
  resolve(): void {
    const completed = this.#takePending()
    completed.resolve()
  }

  reject(cause: unknown): void {
    const completed = this.#takePending()
    // Not every caller awaits the result.
    completed.promise.catch(() => undefined)
    completed.reject(cause)
  }

  #takePending(): PromiseWithResolvers<void> {
    const completed = this.#completed
    this.#pending = undefined
    this.#requested = Promise.withResolvers<void>()
    this.#completed = Promise.withResolvers<void>()
    return completed
  }
}

const PRECEDENCE = {
  'by-policy': 0,
  'by-schedule': 1,
  'at-once': 2,
  'from-gate': 3,
} as const satisfies Record<RestartMode, number>
