/** A continuing failure is logged again after this time. */
const REPEAT_INTERVAL_MS = 60_000

interface OutageLogOptions {
  /** A monotonic clock. */
  readonly monotonicMs: () => number
  readonly onFailure: (why: string) => void
  /** Called on recovery, if the failure was reported. */
  readonly onRecovery: (lastedMs: number) => void
}

/**
 * Limits the reports of an operation that fails many times a second: the first failure, then at
 * intervals, and the recovery.
 */
export class OutageLog {
  readonly #options: OutageLogOptions
  #sinceMs: number | undefined
  #reportedMs = 0

  constructor(options: OutageLogOptions) {
    this.#options = options
  }

  /** Duration of the current failure; undefined without one. */
  get current(): { readonly lastedMs: number } | undefined {
    if (this.#sinceMs === undefined) return undefined
    return { lastedMs: this.#options.monotonicMs() - this.#sinceMs }
  }

  failed(why: string): void {
    const nowMs = this.#options.monotonicMs()
    if (this.#sinceMs !== undefined && nowMs - this.#reportedMs < REPEAT_INTERVAL_MS) return
    this.#sinceMs ??= nowMs
    this.#reportedMs = nowMs
    this.#options.onFailure(why)
  }

  succeeded(): void {
    if (this.#sinceMs === undefined) return
    const lastedMs = Math.round(this.#options.monotonicMs() - this.#sinceMs)
    this.#sinceMs = undefined
    this.#options.onRecovery(lastedMs)
  }
}
