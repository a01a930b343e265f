/** A trouble that lasts is told of again after this time. */
const AGAIN_MS = 60_000

interface TellerOptions {
  /** A clock that never jumps. */
  readonly monotonicMs: () => number
  readonly tell: (why: string) => void
  /** Called when it is over, if it was told of. */
  readonly over: (lastedMs: number) => void
}

/**
 * What is tried many times a second fails as often: that is told of when it begins, from time to
 * time while it lasts, and when it is over.
 */
export class TroubleTeller {
  readonly #options: TellerOptions
  #sinceMs: number | undefined
  #toldMs = 0

  constructor(options: TellerOptions) {
    this.#options = options
  }

  /** How long it has lasted; undefined when there is none. */
  get current(): { readonly lastedMs: number } | undefined {
    if (this.#sinceMs === undefined) return undefined
    return { lastedMs: this.#options.monotonicMs() - this.#sinceMs }
  }

  failed(why: string): void {
    const nowMs = this.#options.monotonicMs()
    if (this.#sinceMs !== undefined && nowMs - this.#toldMs < AGAIN_MS) return
    this.#sinceMs ??= nowMs
    this.#toldMs = nowMs
    this.#options.tell(why)
  }

  worked(): void {
    if (this.#sinceMs === undefined) return
    const lastedMs = Math.round(this.#options.monotonicMs() - this.#sinceMs)
    this.#sinceMs = undefined
    this.#options.over(lastedMs)
  }
}
