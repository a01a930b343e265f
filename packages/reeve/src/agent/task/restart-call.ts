/** How a task is to start again after its process was ended on request. */
export type RestartManner =
  /** At once, without using up an attempt. */
  | 'at-once'
  /** As after a failure: the policy decides. */
  | 'by-policy'
  /** When its schedule opens again, without using up an attempt. */
  | 'by-schedule'
  /** From its gate, with the whole group. */
  | 'from-gate'

interface PendingRestart {
  readonly reason: string
  readonly manner: RestartManner
}

/**
 * A wish to start again that waits to be noticed by the runner's loop. Wishes that come before the
 * first one is fulfilled are fulfilled by the same end of the process; the one that reaches back
 * furthest decides.
 */
export class RestartCall {
  #pending: PendingRestart | undefined
  #noticed = Promise.withResolvers<void>()
  #done = Promise.withResolvers<void>()

  /** Settles at the next wish, at once when one waits. */
  get made(): Promise<void> {
    return this.#noticed.promise
  }

  get pending(): PendingRestart | undefined {
    return this.#pending
  }

  /** Whether a wish changes nothing, because one that waits reaches as far back. */
  has(wish: PendingRestart): boolean {
    const known = this.#pending
    return known !== undefined && REACH[wish.manner] <= REACH[known.manner]
  }

  /** Resolves when the old process has ended, rejects when it could not be ended. */
  make(wish: PendingRestart): Promise<void> {
    if (!this.has(wish)) this.#pending = wish
    this.#noticed.resolve()
    return this.#done.promise
  }

  /** The process has ended, or the wish is moot because the task ends for good. */
  fulfil(): void {
    const done = this.#forget()
    done.resolve()
  }

  fail(cause: unknown): void {
    const done = this.#forget()
    // Not everybody who asks waits for the answer.
    done.promise.catch(() => undefined)
    done.reject(cause)
  }

  #forget(): PromiseWithResolvers<void> {
    const done = this.#done
    this.#pending = undefined
    this.#noticed = Promise.withResolvers<void>()
    this.#done = Promise.withResolvers<void>()
    return done
  }
}

const REACH = {
  'by-policy': 0,
  'by-schedule': 1,
  'at-once': 2,
  'from-gate': 3,
} as const satisfies Record<RestartManner, number>
