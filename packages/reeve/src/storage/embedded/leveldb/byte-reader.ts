import { CorruptFileError } from './damage.ts'

/** Decodes LevelDB numbers and strings from possibly damaged bytes; never reads past the end. */
export class ByteReader {
  readonly #bytes: Uint8Array
  readonly #end: number
  offset: number

  constructor(bytes: Uint8Array, start = 0, end = bytes.length) {
    this.#bytes = bytes
    this.offset = start
    this.#end = end
  }

  get isAtEnd(): boolean {
    return this.offset >= this.#end
  }

  /** Seven bits per byte, lowest first. Numbers above 2^53 do not occur in an intact file. */
  readVarint(): number {
    let value = 0
    for (let scale = 1; scale <= 2 ** 49; scale *= 128) {
      const byte = this.#readByte()
      value += (byte & 0x7f) * scale
      if (byte < 0x80) return value
    }
    throw new CorruptFileError(this.offset, 'a number is too long')
  }

  /** Bytes preceded by their length. */
  readSized(): Uint8Array {
    return this.readBytes(this.readVarint())
  }

  readBytes(length: number): Uint8Array {
    const start = this.offset
    this.skip(length)
    return this.#bytes.subarray(start, this.offset)
  }

  skip(length: number): void {
    if (length > this.#end - this.offset)
      throw new CorruptFileError(this.offset, 'a value is longer than the rest')
    this.offset += length
  }

  #readByte(): number {
    const byte = this.offset < this.#end ? this.#bytes[this.offset] : undefined
    if (byte === undefined) throw new CorruptFileError(this.offset, 'the content ends too early')
    this.offset++
    return byte
  }
}

/** Four bytes, lowest first. Missing ones read as zero. */
export function readUint32(bytes: Uint8Array, at: number): number {
  const low = (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8)
  const high = (bytes[at + 2] ?? 0) | ((bytes[at + 3] ?? 0) << 8)
  return (low | (high << 16)) >>> 0
}
