/**
 * One output of a command as an async iterable. It holds what has not been read; leaving the loop
 * drops the rest. There is one reader: a second loop goes on where the first one stands.
 */
export class ExecOutput implements AsyncIterable<Uint8Array> {
  #unread: Uint8Array[] = []
  #unreadBytes = 0
  #isOver = false
  #failure: Error | undefined
  #wake: (() => void) | undefined

  get unreadBytes(): number {
    return this.#unreadBytes
  }

  push(bytes: Uint8Array): void {
    if (this.#isOver || bytes.length === 0) return
    this.#unread.push(bytes)
    this.#unreadBytes += bytes.length
    this.#wake?.()
  }

  /** No more will come. The failure, if any, is thrown after what is unread. */
  end(failure?: Error): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#failure = failure
    this.#wake?.()
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
        await new Promise<void>((resolve) => (this.#wake = resolve))
      }
    } finally {
      this.#isOver = true
      this.#unread = []
      this.#unreadBytes = 0
    }
    if (this.#failure !== undefined) throw this.#failure
  }
}
