import { crc32 } from 'node:zlib'
import { releaseBytes } from '@reeve/kit/bytes.ts'
import { UTF8_BYTES_PER_UNIT_MAX } from '@reeve/kit/string-chunks.ts'
import type { BlobChange, LogEntry, AppendEntry } from '../../../state/index.ts'
import { escapeText, needsEscape, unescapeText } from '../../text-escape.ts'

/**
 * One append as it stands in a log file: all of its entries, or, when its checksum does not match,
 * none. Numbers are little-endian.
 *
 *   magic 4 | checksum 4 | bytes of the body 4 | entries 4 | blobs 4 | index of the first 8 | body
 *   entry:  time 8 | bytes of the text 4 | blobs 4 | text | blobs
 *   blob:   bytes of the key 4 | bytes of the value 4 (DELETED: none) | key | value
 *
 * The checksum covers all that follows it and begins with the salt of the file: whoever writes
 * blobs cannot write something that looks like a record.
 */
export const RECORD_HEADER_BYTES = 28
/** No UTF-8 text starts with these bytes. */
export const RECORD_MAGIC = Buffer.from([0xa5, 0x52, 0x45, 0x43])
const CHECKSUMMED_FROM = 8
const ENTRY_HEADER_BYTES = 16
const BLOB_HEADER_BYTES = 8
const DELETED_BLOB_LENGTH = 0xffffffff

/** Encodes appends in reused memory. */
export class RecordEncoder {
  readonly #buffer: ChunkedBuffer
  #blobCount = 0

  constructor(bytes = new ChunkedBuffer()) {
    this.#buffer = bytes
  }

  /** The returned buffers are consecutive and valid until the next call. */
  encode(entries: readonly AppendEntry[], salt: number): readonly Buffer[] {
    const bytes = this.#buffer
    bytes.clear()
    this.#blobCount = 0
    const begin = bytes.position
    const header = bytes.reserve(RECORD_HEADER_BYTES)
    for (const entry of entries) this.#addEntry(entry)
    const slices = bytes.slicesFrom(begin)
    RECORD_MAGIC.copy(header)
    header.writeUInt32LE(bytes.length - RECORD_HEADER_BYTES, 8)
    header.writeUInt32LE(entries.length, 12)
    header.writeUInt32LE(this.#blobCount, 16)
    header.writeDoubleLE(entries[0]?.index ?? 0, 20)
    header.writeUInt32LE(checksumOf(slices, salt), 4)
    return slices
  }

  #addEntry({ timeMs, text, blobs }: AppendEntry): void {
    const head = this.#buffer.reserve(ENTRY_HEADER_BYTES)
    head.writeDoubleLE(timeMs, 0)
    head.writeUInt32LE(this.#addText(typeof text === 'string' ? [text] : text), 8)
    head.writeUInt32LE(blobs.length, 12)
    this.#blobCount += blobs.length
    for (const blob of blobs) this.#addBlob(blob)
  }

  #addBlob({ key, bytes }: BlobChange): void {
    const head = this.#buffer.reserve(BLOB_HEADER_BYTES)
    head.writeUInt32LE(this.#addText([key]), 0)
    head.writeUInt32LE(bytes === undefined ? DELETED_BLOB_LENGTH : bytes.length, 4)
    if (bytes !== undefined) this.#buffer.reserve(bytes.length).set(bytes)
  }

  /**
   * Almost no text needs escaping, and checking the bytes costs a fraction of checking the text.
   */
  #addText(parts: readonly string[]): number {
    const bytes = this.#buffer
    const begin = bytes.position
    let isLossless = true
    for (const part of parts) isLossless = bytes.addText(part) && isLossless
    if (!isLossless || bytes.slicesFrom(begin).some(needsEscape)) {
      bytes.truncateTo(begin)
      bytes.addText(escapeText(parts.join('')))
    }
    return bytes.length - begin.length
  }
}

/** The first buffer starts with the record header. */
function checksumOf(slices: readonly Buffer[], salt: number): number {
  let checksum = salt
  slices.forEach((piece, i) => {
    checksum = crc32(i === 0 ? piece.subarray(CHECKSUMMED_FROM) : piece, checksum)
  })
  return checksum
}

/** Header of a record; not trustworthy before the checksum is verified. */
interface RecordHeader {
  readonly bytes: number
  readonly entryCount: number
  /** Number of blob changes in its entries. */
  readonly blobCount: number
  readonly firstIndex: number
}

/** Undefined if the bytes are not a record header. */
export function parseRecordHeader(bytes: Buffer): RecordHeader | undefined {
  if (bytes.length < RECORD_HEADER_BYTES) return undefined
  if (RECORD_MAGIC.compare(bytes, 0, RECORD_MAGIC.length) !== 0) return undefined
  return {
    bytes: RECORD_HEADER_BYTES + bytes.readUInt32LE(8),
    entryCount: bytes.readUInt32LE(12),
    blobCount: bytes.readUInt32LE(16),
    firstIndex: bytes.readDoubleLE(20),
  }
}

export function isRecordIntact(record: Buffer, salt: number): boolean {
  return crc32(record.subarray(CHECKSUMMED_FROM), salt) === record.readUInt32LE(4)
}

/** Decodes the entries of an intact record, with copies of their blobs. */
export function* decodeEntries(record: Buffer): Generator<LogEntry> {
  let offset = RECORD_HEADER_BYTES
  for (let index = record.readDoubleLE(20); offset < record.length; index++) {
    const timeMs = record.readDoubleLE(offset)
    const textEnd = offset + ENTRY_HEADER_BYTES + record.readUInt32LE(offset + 8)
    const text = unescapeText(record.toString('utf8', offset + ENTRY_HEADER_BYTES, textEnd))
    const { blobs, end } = decodeBlobs(record, textEnd, record.readUInt32LE(offset + 12))
    yield { index, timeMs, text, blobs }
    offset = end
  }
}

function decodeBlobs(
  record: Buffer,
  begin: number,
  count: number,
): { readonly blobs: readonly BlobChange[]; readonly end: number } {
  if (count === 0) return { blobs: NO_BLOBS, end: begin }
  const blobs: BlobChange[] = []
  let offset = begin
  for (let i = 0; i < count; i++) {
    const keyEnd = offset + BLOB_HEADER_BYTES + record.readUInt32LE(offset)
    const length = record.readUInt32LE(offset + 4)
    const key = unescapeText(record.toString('utf8', offset + BLOB_HEADER_BYTES, keyEnd))
    const end = length === DELETED_BLOB_LENGTH ? keyEnd : keyEnd + length
    const bytes =
      length === DELETED_BLOB_LENGTH ? undefined : Buffer.from(record.subarray(keyEnd, end))
    blobs.push({ key, bytes })
    offset = end
  }
  return { blobs, end: offset }
}

const NO_BLOBS: readonly BlobChange[] = []

/**
 * Chunk size of the append buffer. One growing buffer would be copied and discarded for every large
 * plan, and V8 scans the whole heap after each 64 MB of external memory: with a million allocations
 * that was a quarter of the cost of filling a cluster.
 */
const CHUNK_BYTES = 1024 * 1024
/** Further chunks of larger appends are released with the next append. */
const CHUNKS_RETAINED = 32

/** Longer texts are measured exactly: the upper bound would reserve three times as much. */
const EXACT_SIZE_CHARS_MIN = 64 * 1024

interface Chunk {
  readonly bytes: Buffer
  /** Number of written bytes. */
  end: number
}

/** A position in the buffer. */
interface BufferPosition {
  readonly chunk: number
  readonly end: number
  /** Bytes before it. */
  readonly length: number
}

const START: BufferPosition = { chunk: 0, end: 0, length: 0 }

/** An append buffer in chunks of reused memory. */
export class ChunkedBuffer {
  readonly #chunkBytes: number
  #chunks: Chunk[] = []
  /** Index of the current chunk; earlier ones are complete. */
  #current = 0
  #length = 0

  constructor(chunkBytes = CHUNK_BYTES) {
    this.#chunkBytes = chunkBytes
  }

  get length(): number {
    return this.#length
  }

  get position(): BufferPosition {
    return {
      chunk: this.#current,
      end: this.#chunks[this.#current]?.end ?? 0,
      length: this.#length,
    }
  }

  /** Clears the buffer. Returned slices may be overwritten afterwards. */
  clear(): void {
    this.truncateTo(START)
    const retained: Chunk[] = []
    for (const chunk of this.#chunks)
      if (chunk.bytes.length === this.#chunkBytes && retained.length < CHUNKS_RETAINED)
        retained.push(chunk)
      else releaseBytes(chunk.bytes)
    this.#chunks = retained
  }

  /** Truncates the buffer to a position. */
  truncateTo({ chunk, end, length }: BufferPosition): void {
    for (let i = chunk; i <= this.#current; i++) {
      const chunkToReset = this.#chunks[i]
      if (chunkToReset !== undefined) chunkToReset.end = i === chunk ? end : 0
    }
    this.#current = chunk
    this.#length = length
  }

  /** Slices of the content from a position on. */
  slicesFrom(place: BufferPosition): Buffer[] {
    const written = this.#chunks.slice(place.chunk, this.#current + 1)
    return written
      .map(({ bytes, end }, i) => bytes.subarray(i === 0 ? place.end : 0, end))
      .filter(({ length }) => length > 0)
  }

  /** Reserves bytes for the caller to fill. */
  reserve(bytes: number): Buffer {
    const chunk = this.#chunkFor(bytes)
    chunk.end += bytes
    this.#length += bytes
    return chunk.bytes.subarray(chunk.end - bytes, chunk.end)
  }

  /**
   * Appends a text as UTF-8. Returns false if the text contains an unpaired surrogate, which UTF-8
   * cannot represent.
   */
  addText(text: string): boolean {
    const { length } = text
    const chunk = this.#chunkFor(
      length < EXACT_SIZE_CHARS_MIN ? length * UTF8_BYTES_PER_UNIT_MAX : Buffer.byteLength(text),
    )
    const bytes = chunk.bytes.write(text, chunk.end)
    chunk.end += bytes
    this.#length += bytes
    return bytes === length || text.isWellFormed()
  }

  #chunkFor(bytes: number): Chunk {
    const last = this.#chunks[this.#current]
    if (last !== undefined && last.end + bytes <= last.bytes.length) return last
    if (last !== undefined) this.#current += 1
    const next = this.#chunks[this.#current]
    if (next !== undefined && bytes <= next.bytes.length) return next
    const created = { bytes: Buffer.allocUnsafeSlow(Math.max(bytes, this.#chunkBytes)), end: 0 }
    this.#chunks.splice(this.#current, 0, created)
    return created
  }
}
