import { open, type FileHandle } from 'node:fs/promises'
import { crc32 } from 'node:zlib'
import { isRecordIntact, RECORD_HEADER_BYTES, RECORD_MAGIC, parseRecordHeader } from './record.ts'

/** Digits of the largest exact integer; names sort by index. */
const INDEX_DIGITS = 16
const FILE_MAGIC = 'reevelog'
/** magic 8 | first index 8 | first index and bytes of the file before 16 | salt 4 | checksum 4 */
export const SEGMENT_HEADER_BYTES = 40
const CHECKSUM_OFFSET = 36
/** Size of the read buffer. */
const READ_BUFFER_BYTES = 256 * 1024

/** The files of the log are damaged. */
export class CorruptLogError extends Error {
  override readonly name: string = 'DamagedLog'
}

/** Header of a segment, durable before its first record. */
export interface SegmentHeader {
  readonly firstIndex: number
  /** First index and length of the previous segment; a first index of 0 means none. */
  readonly previous: { readonly firstIndex: number; readonly bytes: number }
  /** A random number; see record.ts. */
  readonly salt: number
}

export function logFileName(firstIndex: number): string {
  return `${String(firstIndex).padStart(INDEX_DIGITS, '0')}.log`
}

/** First index in a file name; undefined for other files. */
export function firstIndexOf(name: string): number | undefined {
  return /^\d{16}\.log$/.test(name) ? Number.parseInt(name, 10) : undefined
}

export function encodeSegmentHeader({ firstIndex, previous, salt }: SegmentHeader): Buffer {
  const bytes = Buffer.alloc(SEGMENT_HEADER_BYTES)
  bytes.write(FILE_MAGIC, 0, 'latin1')
  bytes.writeDoubleLE(firstIndex, 8)
  bytes.writeDoubleLE(previous.firstIndex, 16)
  bytes.writeDoubleLE(previous.bytes, 24)
  bytes.writeUInt32LE(salt, 32)
  bytes.writeUInt32LE(crc32(bytes.subarray(0, CHECKSUM_OFFSET)), CHECKSUM_OFFSET)
  return bytes
}

/** Undefined if the bytes are not a valid header. */
export function decodeSegmentHeader(bytes: Buffer): SegmentHeader | undefined {
  if (bytes.length < SEGMENT_HEADER_BYTES) return undefined
  if (bytes.toString('latin1', 0, FILE_MAGIC.length) !== FILE_MAGIC) return undefined
  if (crc32(bytes.subarray(0, CHECKSUM_OFFSET)) !== bytes.readUInt32LE(CHECKSUM_OFFSET))
    return undefined
  return {
    firstIndex: bytes.readDoubleLE(8),
    previous: { firstIndex: bytes.readDoubleLE(16), bytes: bytes.readDoubleLE(24) },
    salt: bytes.readUInt32LE(32),
  }
}

/** A range of a segment to read. */
export interface SegmentRange {
  readonly path: string
  readonly salt: number
  /** Known end of its records. */
  readonly bytes: number
  /** Start offset and the index expected there. */
  readonly from: EntryOffset
}

export interface EntryOffset {
  readonly index: number
  readonly offset: number
}

/** An intact record; its bytes are valid until the next one is read. */
export interface ScannedRecord extends EntryOffset {
  readonly bytes: Buffer
  readonly entries: number
  readonly blobs: number
}

/** End of the intact records of a segment. */
export interface ScanEnd extends EntryOffset {
  /** True if bytes follow that are not a record. */
  readonly isTorn: boolean
  /** Number of those bytes. */
  readonly tornBytes: number
}

/** Yields the records of a segment up to the first damaged one. Returns the position of the end. */
export async function* scanRecords(source: SegmentRange): AsyncGenerator<ScannedRecord, ScanEnd> {
  const handle = await open(source.path, 'r')
  try {
    const window = new BufferedReader(handle)
    let { index, offset } = source.from
    while (offset < source.bytes) {
      const record = await readRecordAt(window, source, offset)
      if (record === undefined || record.head.firstIndex !== index)
        return { index, offset, isTorn: true, tornBytes: source.bytes - offset }
      const { entryCount, blobCount, bytes } = record.head
      yield { index, offset, entries: entryCount, blobs: blobCount, bytes: record.bytes }
      index += entryCount
      offset += bytes
    }
    return { index, offset, isTorn: false, tornBytes: 0 }
  } finally {
    await handle.close()
  }
}

async function readRecordAt(window: BufferedReader, source: SegmentRange, offset: number) {
  const head = parseRecordHeader(await window.read(offset, RECORD_HEADER_BYTES))
  if (head === undefined || offset + head.bytes > source.bytes) return undefined
  const bytes = await window.read(offset, head.bytes)
  if (bytes.length < head.bytes || !isRecordIntact(bytes, source.salt)) return undefined
  return { head, bytes }
}

/**
 * Finds the next intact record after a damaged position. Every record is durable before the next
 * one is written, so a power cut tears only the last one: if another record follows, data was lost.
 */
export async function findIntactRecord(
  source: SegmentRange,
  { index, offset }: EntryOffset,
): Promise<EntryOffset | undefined> {
  const handle = await open(source.path, 'r')
  try {
    const window = new BufferedReader(handle)
    for (let searchOffset = offset + 1; searchOffset < source.bytes;) {
      const buffer = await window.read(searchOffset, READ_BUFFER_BYTES)
      const matchOffset = buffer.indexOf(RECORD_MAGIC)
      if (matchOffset === -1) {
        // The magic may span two reads.
        if (buffer.length <= RECORD_MAGIC.length) return undefined
        searchOffset += buffer.length - RECORD_MAGIC.length + 1
        continue
      }
      const record = await readRecordAt(window, source, searchOffset + matchOffset)
      if (record !== undefined && record.head.firstIndex >= index)
        return { index: record.head.firstIndex, offset: searchOffset + matchOffset }
      searchOffset += matchOffset + 1
    }
    return undefined
  } finally {
    await handle.close()
  }
}

/** Buffered reads of many small ranges of a file. */
class BufferedReader {
  readonly #handle: FileHandle
  #buffer = Buffer.allocUnsafe(READ_BUFFER_BYTES)
  #offset = 0
  #length = 0

  constructor(handle: FileHandle) {
    this.#handle = handle
  }

  /** Returns fewer bytes at the end of the file. Valid until the next call. */
  async read(offset: number, length: number): Promise<Buffer> {
    if (offset < this.#offset || offset + length > this.#offset + this.#length)
      await this.#fill(offset, length)
    const begin = offset - this.#offset
    return this.#buffer.subarray(begin, Math.min(begin + length, this.#length))
  }

  async #fill(offset: number, length: number): Promise<void> {
    if (length > this.#buffer.length) this.#buffer = Buffer.allocUnsafe(length)
    this.#offset = offset
    this.#length = 0
    while (this.#length < length) {
      const capacity = this.#buffer.length - this.#length
      const { bytesRead } = await this.#handle.read(
        this.#buffer,
        this.#length,
        capacity,
        offset + this.#length,
      )
      if (bytesRead === 0) return
      this.#length += bytesRead
    }
  }
}
