import { AGENT_LIMITS } from '../limits.ts'

/** Texts that arrived and wait to be acted on, in order. Bounded: see `put`. */
export class Inbox {
  readonly #texts: string[] = []
  #isClosed = false
  #wake: (() => void) | undefined

  /** False when there is no more room: the sender is faster than this side can follow. */
  put(text: string): boolean {
    if (this.#texts.length >= AGENT_LIMITS.unreadMessagesMax) return false
    this.#texts.push(text)
    this.#wake?.()
    return true
  }

  close(): void {
    this.#isClosed = true
    this.#wake?.()
  }

  /** The next text, or undefined when the inbox is closed. One reader only. */
  async next(): Promise<string | undefined> {
    if (this.#texts.length === 0 && !this.#isClosed) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      this.#wake = undefined
    }
    return this.#isClosed ? undefined : this.#texts.shift()
  }
}
