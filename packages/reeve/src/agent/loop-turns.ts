import { AGENT_LIMITS } from './limits.ts'

interface WaitingStep {
  readonly chars: number
  readonly resolve: () => void
}

/**
 * Spreads work on large jobs over event loop iterations. A server may assign a thousand allocations
 * of a 4 MB job at once; preparing them in one go would delay heartbeats by a minute.
 */
export class EventLoopBudget {
  readonly #waiting: WaitingStep[] = []
  #consumedChars = 0
  #isScheduled = false

  /**
   * Resolves when a step on a job of this size may run: immediately while the current iteration has
   * capacity.
   */
  acquire(chars: number): Promise<void> {
    if (this.#waiting.length === 0 && this.#fits(chars)) {
      this.#consume(chars)
      return Promise.resolve()
    }
    return new Promise((resolve) => this.#waiting.push({ chars, resolve }))
  }

  /** The first step of an iteration always fits, however large its job is. */
  #fits(chars: number): boolean {
    return (
      this.#consumedChars === 0 || this.#consumedChars + chars <= AGENT_LIMITS.loopSliceCharsMax
    )
  }

  #consume(chars: number): void {
    this.#consumedChars += chars
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => this.#startSlice())
  }

  #startSlice(): void {
    this.#isScheduled = false
    this.#consumedChars = 0
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      if (!this.#fits(next.chars)) return
      this.#waiting.shift()
      this.#consume(next.chars)
      next.resolve()
    }
  }
}
