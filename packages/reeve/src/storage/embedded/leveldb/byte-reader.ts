import { Damage } from './damage.ts'

/** Reads the database's numbers and texts from bytes that may be damaged: never past the end. */
export class ByteReader {
  readonly #bytes: Uint8Array
  readonly #end: number
  at: number

  constructor(bytes: Uint8Array, start = 0, end = bytes.length) {
    this.#bytes = bytes
    this.at = start
    this.#end = end
  }

  get done(): boolean {
    return this.at >= this.#end
  }

  /** Seven bits per byte, lowest first. Numbers above 2^53 do not occur in a sound file. */
  varint(): number {
    let value = 0
    for (let scale = 1; scale <= 2 ** 49; scale *= 128) {
      const byte = this.#byte()
      value += (byte & 0x7f) * scale
      if (byte < 0x80) return value
    }
    throw new Damage(this.at, 'a number is too long')
  }

  /** Bytes preceded by their length. */
  sized(): Uint8Array {
    return this.take(this.varint())
  }

  take(length: number): Uint8Array {
    const start = this.at
    this.skip(length)
    return this.#bytes.subarray(start, this.at)
  }

  skip(length: number): void {
    if (length > this.#end - this.at) throw new Damage(this.at, 'a value is longer than the rest')
    this.at += length
  }

  #byte(): number {
    const byte = this.at < this.#end ? this.#bytes[this.at] : undefined
    if (byte === undefined) throw new Damage(this.at, 'the content ends too early')
    this.at++
    return byte
  }
}

/** Four bytes, lowest first. Missing ones read as zero. */
export function uint32At(bytes: Uint8Array, at: number): number {
  const low = (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8)
  const high = (bytes[at + 2] ?? 0) | ((bytes[at + 3] ?? 0) << 8)
  return (low | (high << 16)) >>> 0
}
