import { crc32 } from 'node:zlib'
import type { BlobChange, LogEntry } from '../../../state/index.ts'
import { escapeText, unescapeText } from '../text-escape.ts'

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
const UTF8_BYTES_MAX = 3

const SCRATCH_BYTES = 1024 * 1024
/** A larger one is let go after the append that needed it. */
const SCRATCH_BYTES_KEPT = 16 * 1024 * 1024
/** The bytes of a longer text are counted: what is held for it would be three times as much. */
const COUNTED_CHARS_MIN = 64 * 1024

/** Puts appends into bytes, in memory that is used again for the next. */
export class RecordWriter {
  #bytes = Buffer.allocUnsafe(SCRATCH_BYTES)
  #end = 0
  #blobs = 0

  /** The bytes are good until the next call. */
  write(entries: readonly LogEntry[], salt: number): Buffer {
    if (this.#bytes.length > SCRATCH_BYTES_KEPT) this.#bytes = Buffer.allocUnsafe(SCRATCH_BYTES)
    this.#end = RECORD_HEAD_BYTES
    this.#blobs = 0
    for (const entry of entries) this.#entry(entry)
    const bytes = this.#bytes
    RECORD_MAGIC.copy(bytes)
    bytes.writeUInt32LE(this.#end - RECORD_HEAD_BYTES, 8)
    bytes.writeUInt32LE(entries.length, 12)
    bytes.writeUInt32LE(this.#blobs, 16)
    bytes.writeDoubleLE(entries[0]?.index ?? 0, 20)
    bytes.writeUInt32LE(crc32(bytes.subarray(CHECKED_FROM, this.#end), salt), 4)
    return bytes.subarray(0, this.#end)
  }

  #entry({ timeMs, text, blobs }: LogEntry): void {
    this.#reserve(ENTRY_HEAD_BYTES)
    const head = this.#end
    this.#end += ENTRY_HEAD_BYTES
    const textBytes = this.#text(text)
    this.#bytes.writeDoubleLE(timeMs, head)
    this.#bytes.writeUInt32LE(textBytes, head + 8)
    this.#bytes.writeUInt32LE(blobs.length, head + 12)
    this.#blobs += blobs.length
    for (const blob of blobs) this.#blob(blob)
  }

  #blob({ key, bytes }: BlobChange): void {
    this.#reserve(BLOB_HEAD_BYTES)
    const head = this.#end
    this.#end += BLOB_HEAD_BYTES
    const keyBytes = this.#text(key)
    this.#bytes.writeUInt32LE(keyBytes, head)
    this.#bytes.writeUInt32LE(bytes === undefined ? DELETED : bytes.length, head + 4)
    if (bytes === undefined) return
    this.#reserve(bytes.length)
    this.#bytes.set(bytes, this.#end)
    this.#end += bytes.length
  }

  #text(content: string): number {
    const text = escapeText(content)
    this.#reserve(
      text.length < COUNTED_CHARS_MIN ? text.length * UTF8_BYTES_MAX : Buffer.byteLength(text),
    )
    const bytes = this.#bytes.write(text, this.#end, 'utf8')
    this.#end += bytes
    return bytes
  }

  #reserve(bytes: number): void {
    if (this.#end + bytes <= this.#bytes.length) return
    const larger = Buffer.allocUnsafe((this.#end + bytes) * 2)
    this.#bytes.copy(larger, 0, 0, this.#end)
    this.#bytes = larger
  }
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
