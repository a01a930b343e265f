import { crc32 } from 'node:zlib'
import type { BlobChange, LogEntry, AppendEntry } from '../../../state/index.ts'
import { escapeText, needsEscape, unescapeText } from '../text-escape.ts'
import { ChunkedBuffer } from './chunked-bytes.ts'

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
export interface RecordHeader {
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
