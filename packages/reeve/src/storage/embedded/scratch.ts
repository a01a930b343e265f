const BYTES_AT_FIRST = 64 * 1024
/** What is larger is rare, and is not kept. */
const BYTES_MAX = 8 * 1024 * 1024

/**
 * Memory for values on their way to the database, which copies them: the next write uses it again.
 * Memory of its own for each would be given back by the collector alone, and so much of it would
 * make it go through the whole state again and again.
 */
export class Scratch {
  #bytes: Buffer = Buffer.alloc(0)
  #used = 0

  /** Everything taken before is no longer needed. */
  reset(): void {
    this.#used = 0
  }

  take(size: number): Buffer {
    if (size > BYTES_MAX) return Buffer.allocUnsafe(size)
    if (this.#used + size > this.#bytes.length) this.#grow(size)
    const from = this.#used
    this.#used += size
    return this.#bytes.subarray(from, this.#used)
  }

  /** Room that is larger; what was taken from the one before stays as it is. */
  #grow(size: number): void {
    const length = Math.max(BYTES_AT_FIRST, 2 * this.#bytes.length, size)
    this.#bytes = Buffer.allocUnsafeSlow(Math.min(length, BYTES_MAX))
    this.#used = 0
  }
}
