const UTF8_BYTES_MAX = 3
/** The bytes of a longer text are counted: what is held for it would be three times as much. */
const COUNTED_CHARS_MIN = 64 * 1024

/** Bytes of texts and whatever else, one behind the other, in memory that is used again. */
export class ByteScratch {
  readonly #bytesMin: number
  #bytes: Buffer
  /** Where the next one goes. */
  end = 0

  constructor(bytesMin: number) {
    this.#bytesMin = bytesMin
    this.#bytes = Buffer.allocUnsafe(bytesMin)
  }

  /** Good until something is added. */
  get bytes(): Buffer {
    return this.#bytes
  }

  /** Begins anew; memory beyond `bytesKept` is given back. */
  clear(bytesKept: number): void {
    this.end = 0
    if (this.#bytes.length > bytesKept) this.#bytes = Buffer.allocUnsafe(this.#bytesMin)
  }

  reserve(bytes: number): void {
    if (this.end + bytes <= this.#bytes.length) return
    const larger = Buffer.allocUnsafe((this.end + bytes) * 2)
    this.#bytes.copy(larger, 0, 0, this.end)
    this.#bytes = larger
  }

  /** Adds a text as UTF-8. False when that does not hold it: it has half of a character. */
  add(text: string): boolean {
    const { length } = text
    this.reserve(length < COUNTED_CHARS_MIN ? length * UTF8_BYTES_MAX : Buffer.byteLength(text))
    const bytes = this.#bytes.write(text, this.end)
    this.end += bytes
    return bytes === length || text.isWellFormed()
  }
}
