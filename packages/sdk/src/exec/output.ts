/**
 * An output stream of a command as an async iterable. It buffers unread bytes; leaving the loop drops
 * them. It supports one reader: a second loop continues where the first one stopped.
 */
export class ExecOutput implements AsyncIterable<Uint8Array> {
  #unread: Uint8Array[] = []
  #unreadBytes = 0
  #isOver = false
  #failure: Error | undefined
  #notifyReader: (() => void) | undefined

  get unreadBytes(): number {
    return this.#unreadBytes
  }

  push(bytes: Uint8Array): void {
    if (this.#isOver || bytes.length === 0) return
    this.#unread.push(bytes)
    this.#unreadBytes += bytes.length
    this.#notifyReader?.()
  }

  /** Ends the output. An error is thrown after the unread bytes. */
  end(failure?: Error): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#failure = failure
    this.#notifyReader?.()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        const unread = this.#unread
        this.#unread = []
        for (const bytes of unread) {
          this.#unreadBytes -= bytes.length
          yield bytes
        }
        if (this.#unread.length > 0) continue
        if (this.#isOver) break
        await new Promise<void>((resolve) => (this.#notifyReader = resolve))
      }
    } finally {
      this.#isOver = true
      this.#unread = []
      this.#unreadBytes = 0
    }
    if (this.#failure !== undefined) throw this.#failure
  }
}
