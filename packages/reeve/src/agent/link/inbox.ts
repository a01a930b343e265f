import { AGENT_LIMITS } from '../limits.ts'

/** Bounded queue of received messages, processed in order. */
export class MessageQueue {
  readonly #messages: string[] = []
  #isClosed = false
  #wake: (() => void) | undefined

  /** Returns false if the queue is full: the server sends faster than the agent processes. */
  push(text: string): boolean {
    if (this.#messages.length >= AGENT_LIMITS.undeliveredMessagesMax) return false
    this.#messages.push(text)
    this.#wake?.()
    return true
  }

  close(): void {
    this.#isClosed = true
    this.#wake?.()
  }

  /** Resolves to the next message, or to undefined after close. One reader only. */
  async next(): Promise<string | undefined> {
    if (this.#messages.length === 0 && !this.#isClosed) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      this.#wake = undefined
    }
    return this.#isClosed ? undefined : this.#messages.shift()
  }
}
