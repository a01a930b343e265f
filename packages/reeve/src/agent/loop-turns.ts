import { AGENT_LIMITS } from './limits.ts'

interface Waiting {
  readonly chars: number
  readonly resolve: () => void
}

/**
 * Spreads work on large jobs over turns of the event loop. A server may assign a thousand
 * allocations of a job of 4 MB at once: prepared one right after the other, they would hold
 * heartbeats and everything else for a minute.
 */
export class LoopTurns {
  readonly #waiting: Waiting[] = []
  #usedChars = 0
  #isScheduled = false

  /** Resolves when a step on a job of this size may be done: at once while the turn has room. */
  next(chars: number): Promise<void> {
    if (this.#waiting.length === 0 && this.#hasRoom(chars)) {
      this.#use(chars)
      return Promise.resolve()
    }
    return new Promise((resolve) => this.#waiting.push({ chars, resolve }))
  }

  /** One step always fits, however large its job is. */
  #hasRoom(chars: number): boolean {
    return this.#usedChars === 0 || this.#usedChars + chars <= AGENT_LIMITS.turnCharsMax
  }

  #use(chars: number): void {
    this.#usedChars += chars
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => this.#begin())
  }

  #begin(): void {
    this.#isScheduled = false
    this.#usedChars = 0
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      if (!this.#hasRoom(next.chars)) return
      this.#waiting.shift()
      this.#use(next.chars)
      next.resolve()
    }
  }
}
