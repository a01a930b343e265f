import { crc32 } from 'node:zlib'
import { ByteScratch } from './byte-scratch.ts'
import type { BlobChange, LogEntry, NewLogEntry } from '../../../state/index.ts'
import { escapeText, needsEscape, unescapeText } from '../text-escape.ts'

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
const SCRATCH_BYTES = 1024 * 1024
/** A larger one is let go after the append that needed it. */
const SCRATCH_BYTES_KEPT = 16 * 1024 * 1024

/** Puts appends into bytes, in memory that is used again for the next. */
export class RecordWriter {
  readonly #scratch = new ByteScratch(SCRATCH_BYTES)
  #blobs = 0

  /** The bytes are good until the next call. */
  write(entries: readonly NewLogEntry[], salt: number): Buffer {
    const scratch = this.#scratch
    scratch.clear(SCRATCH_BYTES_KEPT)
    scratch.end = RECORD_HEAD_BYTES
    this.#blobs = 0
    for (const entry of entries) this.#entry(entry)
    const { bytes, end } = scratch
    RECORD_MAGIC.copy(bytes)
    bytes.writeUInt32LE(end - RECORD_HEAD_BYTES, 8)
    bytes.writeUInt32LE(entries.length, 12)
    bytes.writeUInt32LE(this.#blobs, 16)
    bytes.writeDoubleLE(entries[0]?.index ?? 0, 20)
    bytes.writeUInt32LE(crc32(bytes.subarray(CHECKED_FROM, end), salt), 4)
    return bytes.subarray(0, end)
  }

  #entry({ timeMs, text, blobs }: NewLogEntry): void {
    const head = this.#head(ENTRY_HEAD_BYTES)
    const textBytes = this.#text(typeof text === 'string' ? [text] : text)
    const { bytes } = this.#scratch
    bytes.writeDoubleLE(timeMs, head)
    bytes.writeUInt32LE(textBytes, head + 8)
    bytes.writeUInt32LE(blobs.length, head + 12)
    this.#blobs += blobs.length
    for (const blob of blobs) this.#blob(blob)
  }

  #blob({ key, bytes: value }: BlobChange): void {
    const head = this.#head(BLOB_HEAD_BYTES)
    const keyBytes = this.#text([key])
    const scratch = this.#scratch
    scratch.bytes.writeUInt32LE(keyBytes, head)
    scratch.bytes.writeUInt32LE(value === undefined ? DELETED : value.length, head + 4)
    if (value === undefined) return
    scratch.reserve(value.length)
    scratch.bytes.set(value, scratch.end)
    scratch.end += value.length
  }

  /** Room for a head, which is written when what follows it is. Returns where. */
  #head(bytes: number): number {
    const scratch = this.#scratch
    scratch.reserve(bytes)
    const head = scratch.end
    scratch.end += bytes
    return head
  }

  /** Nearly no text has to be escaped: the bytes tell it at a fraction of the cost. */
  #text(parts: readonly string[]): number {
    const scratch = this.#scratch
    const begin = scratch.end
    let isExact = true
    for (const part of parts) isExact = scratch.add(part) && isExact
    if (!isExact || needsEscape(scratch.bytes.subarray(begin, scratch.end))) {
      scratch.end = begin
      scratch.add(escapeText(parts.join('')))
    }
    return scratch.end - begin
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
