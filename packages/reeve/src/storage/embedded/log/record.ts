import { crc32 } from 'node:zlib'
import type { BlobChange, LogEntry, NewLogEntry } from '../../../state/index.ts'
import { escapeText, needsEscape, unescapeText } from '../text-escape.ts'
import { ChunkedBytes } from './chunked-bytes.ts'

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
export const RECORD_HEAD_BYTES = 28
/** No text begins like this: the first byte is none of UTF-8. */
export const RECORD_MAGIC = Buffer.from([0xa5, 0x52, 0x45, 0x43])
const CHECKED_FROM = 8
const ENTRY_HEAD_BYTES = 16
const BLOB_HEAD_BYTES = 8
const DELETED = 0xffffffff

/** Puts appends into bytes, in memory that is used again for the next. */
export class RecordWriter {
  readonly #bytes: ChunkedBytes
  #blobs = 0

  constructor(bytes = new ChunkedBytes()) {
    this.#bytes = bytes
  }

  /** The bytes, one piece behind the other, are good until the next call. */
  write(entries: readonly NewLogEntry[], salt: number): readonly Buffer[] {
    const bytes = this.#bytes
    bytes.clear()
    this.#blobs = 0
    const begin = bytes.place
    const head = bytes.take(RECORD_HEAD_BYTES)
    for (const entry of entries) this.#entry(entry)
    const pieces = bytes.since(begin)
    RECORD_MAGIC.copy(head)
    head.writeUInt32LE(bytes.length - RECORD_HEAD_BYTES, 8)
    head.writeUInt32LE(entries.length, 12)
    head.writeUInt32LE(this.#blobs, 16)
    head.writeDoubleLE(entries[0]?.index ?? 0, 20)
    head.writeUInt32LE(checksumOf(pieces, salt), 4)
    return pieces
  }

  #entry({ timeMs, text, blobs }: NewLogEntry): void {
    const head = this.#bytes.take(ENTRY_HEAD_BYTES)
    head.writeDoubleLE(timeMs, 0)
    head.writeUInt32LE(this.#text(typeof text === 'string' ? [text] : text), 8)
    head.writeUInt32LE(blobs.length, 12)
    this.#blobs += blobs.length
    for (const blob of blobs) this.#blob(blob)
  }

  #blob({ key, bytes }: BlobChange): void {
    const head = this.#bytes.take(BLOB_HEAD_BYTES)
    head.writeUInt32LE(this.#text([key]), 0)
    head.writeUInt32LE(bytes === undefined ? DELETED : bytes.length, 4)
    if (bytes !== undefined) this.#bytes.take(bytes.length).set(bytes)
  }

  /** Nearly no text has to be escaped: the bytes tell it at a fraction of the cost. */
  #text(parts: readonly string[]): number {
    const bytes = this.#bytes
    const begin = bytes.place
    let isExact = true
    for (const part of parts) isExact = bytes.addText(part) && isExact
    if (!isExact || bytes.since(begin).some(needsEscape)) {
      bytes.goBack(begin)
      bytes.addText(escapeText(parts.join('')))
    }
    return bytes.length - begin.length
  }
}

/** The first piece begins with the head of the record. */
function checksumOf(pieces: readonly Buffer[], salt: number): number {
  let checksum = salt
  pieces.forEach((piece, i) => {
    checksum = crc32(i === 0 ? piece.subarray(CHECKED_FROM) : piece, checksum)
  })
  return checksum
}

/** What a record says of itself; not to be believed before its checksum is. */
export interface RecordHead {
  readonly bytes: number
  readonly entries: number
  /** Changes of blobs that its entries carry. */
  readonly blobs: number
  readonly firstIndex: number
}

/** Undefined when no record begins there. */
export function recordHead(bytes: Buffer): RecordHead | undefined {
  if (bytes.length < RECORD_HEAD_BYTES) return undefined
  if (RECORD_MAGIC.compare(bytes, 0, RECORD_MAGIC.length) !== 0) return undefined
  return {
    bytes: RECORD_HEAD_BYTES + bytes.readUInt32LE(8),
    entries: bytes.readUInt32LE(12),
    blobs: bytes.readUInt32LE(16),
    firstIndex: bytes.readDoubleLE(20),
  }
}

export function isSoundRecord(record: Buffer, salt: number): boolean {
  return crc32(record.subarray(CHECKED_FROM), salt) === record.readUInt32LE(4)
}

/** The entries of a sound record, with copies of their blobs. */
export function* entriesIn(record: Buffer): Generator<LogEntry> {
  let at = RECORD_HEAD_BYTES
  for (let index = record.readDoubleLE(20); at < record.length; index++) {
    const timeMs = record.readDoubleLE(at)
    const textEnd = at + ENTRY_HEAD_BYTES + record.readUInt32LE(at + 8)
    const text = unescapeText(record.toString('utf8', at + ENTRY_HEAD_BYTES, textEnd))
    const { blobs, end } = blobsIn(record, textEnd, record.readUInt32LE(at + 12))
    yield { index, timeMs, text, blobs }
    at = end
  }
}

function blobsIn(
  record: Buffer,
  begin: number,
  count: number,
): { readonly blobs: readonly BlobChange[]; readonly end: number } {
  if (count === 0) return { blobs: NO_BLOBS, end: begin }
  const blobs: BlobChange[] = []
  let at = begin
  for (let i = 0; i < count; i++) {
    const keyEnd = at + BLOB_HEAD_BYTES + record.readUInt32LE(at)
    const length = record.readUInt32LE(at + 4)
    const key = unescapeText(record.toString('utf8', at + BLOB_HEAD_BYTES, keyEnd))
    const end = length === DELETED ? keyEnd : keyEnd + length
    const bytes = length === DELETED ? undefined : Buffer.from(record.subarray(keyEnd, end))
    blobs.push({ key, bytes })
    at = end
  }
  return { blobs, end: at }
}

const NO_BLOBS: readonly BlobChange[] = []
