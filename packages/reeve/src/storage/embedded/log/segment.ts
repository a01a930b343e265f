import { open, type FileHandle, readdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { crc32 } from 'node:zlib'
import { errorCode } from '../storage-faults.ts'
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
function firstIndexOf(name: string): number | undefined {
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
function decodeSegmentHeader(bytes: Buffer): SegmentHeader | undefined {
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

interface EntryOffset {
  readonly index: number
  readonly offset: number
}

/** An intact record; its bytes are valid until the next one is read. */
interface ScannedRecord extends EntryOffset {
  readonly bytes: Buffer
  readonly entries: number
  readonly blobs: number
}

/** End of the intact records of a segment. */
interface ScanEnd extends EntryOffset {
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

/** Distance between index points of a segment, from which a reader scans for its index. */
const INDEX_POINT_INTERVAL_BYTES = 1024 * 1024

/** A segment of the log with a valid header. */
export interface LogSegment {
  readonly path: string
  readonly header: SegmentHeader
  /** End of its records. */
  bytes: number
  /** Sparse index: offsets of some entries, ascending, always including the first one. */
  readonly sparseIndex: EntryOffset[]
}

/** Result of scanning a log directory. Scanning changes nothing. */
export interface LogScan {
  /** Segments in ascending order without gaps; never empty. */
  readonly segments: readonly LogSegment[]
  /** Offset and index of the next entry. */
  readonly end: ScanEnd
  /** Index after the last scanned entry that changes blobs. */
  readonly blobsEnd: number
  /** Unused files: incomplete, trimmed, or before damage. */
  readonly orphans: readonly string[]
  /** Damage to entries covered by the checkpoint; everything before it is dropped. */
  readonly skippedDamage: readonly string[]
}

/**
 * Scans a closed log. Records after `upTo` are read completely; earlier files are only checked for
 * existence and length, and their records are verified when they are read. Damage to entries up to
 * `upTo` is tolerated, because the checkpoint covers them: the log then starts after it.
 */
export async function scanLog(directory: string, checkpointIndex: number): Promise<LogScan> {
  const segmentFiles = await readHeaders(directory)
  const { files, damage } = linkSegments(segmentFiles, checkpointIndex)
  const dropped = damage === undefined ? [] : [damage]
  let end: ScanEnd = { index: 0, offset: 0, isTorn: false, tornBytes: 0 }
  let blobsEnd = 0
  for (const [i, file] of files.entries()) {
    const next = files[i + 1]
    if (next !== undefined && next.header.firstIndex <= checkpointIndex + 1) continue
    const scanned = await scanAfterCheckpoint(file, checkpointIndex, dropped)
    blobsEnd = Math.max(blobsEnd, scanned.blobsEnd)
    end = scanned.end
    if (next !== undefined && (end.isTorn || end.index !== next.header.firstIndex))
      throw checksumMismatch(file, end.offset)
    if (end.isTorn && (await findIntactRecord(segmentFrom(file), end)) !== undefined)
      throw checksumMismatch(file, end.offset, LATER_RECORDS_FOLLOW)
    // Entries before a damaged record of this file are dropped.
    if (file.sparseIndex[0]?.index !== file.header.firstIndex) files.splice(0, files.indexOf(file))
  }
  const used = new Set(files.map(({ path }) => path))
  const leftovers = segmentFiles.map(({ path }) => path).filter((path) => !used.has(path))
  return { segments: files, end, blobsEnd, orphans: leftovers, skippedDamage: dropped }
}

/** Skips damaged records covered by the checkpoint and adds them to `dropped`. */
async function scanAfterCheckpoint(file: LogSegment, checkpointIndex: number, dropped: string[]) {
  for (;;) {
    const scanned = await scanSegment(file)
    const { end } = scanned
    if (!end.isTorn || end.index > checkpointIndex) return scanned
    const intact = await findIntactRecord(segmentFrom(file), end)
    if (intact === undefined || intact.index > checkpointIndex + 1) return scanned
    dropped.push(checksumMismatch(file, end.offset, LATER_RECORDS_FOLLOW).message)
    file.sparseIndex.splice(0, file.sparseIndex.length, intact)
  }
}

const LATER_RECORDS_FOLLOW = ', and later records follow'

export function checksumMismatch(
  { path }: { readonly path: string },
  offset: number,
  more = '',
): CorruptLogError {
  return new CorruptLogError(
    `the file ${basename(path)} at byte ${offset}: a checksum does not match${more}`,
  )
}

export function segmentFrom({ path, header, bytes, sparseIndex }: LogSegment, index = 0) {
  const [first] = sparseIndex
  const from = sparseIndex.findLast((place) => place.index <= index) ?? first
  if (from === undefined) throw new CorruptLogError(`the file ${path} has no beginning`)
  return { path, bytes, salt: header.salt, from }
}

interface SegmentFile {
  readonly path: string
  readonly firstIndex: number
  readonly bytes: number
  readonly header: SegmentHeader | undefined
}

export async function readHeaders(folder: string): Promise<readonly SegmentFile[]> {
  const names = await readdir(folder).catch((thrown: unknown) => {
    if (errorCode(thrown) !== 'ENOENT') throw thrown
    throw new CorruptLogError('the folder log is missing')
  })
  const found: SegmentFile[] = []
  for (const name of names.toSorted()) {
    const firstIndex = firstIndexOf(name)
    if (firstIndex === undefined) continue
    const path = join(folder, name)
    const { head, bytes } = await readHeaderFile(path)
    const isMatching = head?.firstIndex === firstIndex
    found.push({ path, firstIndex, bytes, header: isMatching ? head : undefined })
  }
  return found
}

async function readHeaderFile(path: string) {
  const handle = await open(path, 'r')
  try {
    const { size: bytes } = await handle.stat()
    const buffer = Buffer.alloc(SEGMENT_HEADER_BYTES)
    const { bytesRead } = await handle.read(buffer, 0, SEGMENT_HEADER_BYTES, 0)
    return { head: decodeSegmentHeader(buffer.subarray(0, bytesRead)), bytes }
  } finally {
    await handle.close()
  }
}

/**
 * Links segments from the newest back to the oldest existing one, or to the first tolerated damage.
 */
function linkSegments(found: readonly SegmentFile[], checkpointIndex: number) {
  const newest = found.findLast(hasHeader)
  if (newest === undefined) throw new CorruptLogError('the log has no file')
  const files = [toLogSegment(newest)]
  for (;;) {
    const head = files[0]?.header ?? NO_HEADER
    if (head.previous.firstIndex === 0) return { files, damage: undefined }
    try {
      const previous = previousFile(found, head.previous)
      if (previous === undefined) return { files, damage: undefined }
      files.unshift(toLogSegment(previous))
    } catch (thrown) {
      const isNeeded = head.firstIndex > checkpointIndex + 1
      if (isNeeded || !(thrown instanceof CorruptLogError)) throw thrown
      return { files, damage: thrown.message }
    }
  }
}

/** Undefined if it was trimmed: files are removed from the oldest on. */
function previousFile(
  found: readonly SegmentFile[],
  { firstIndex, bytes }: SegmentHeader['previous'],
): SegmentFile | undefined {
  const file = found.find((one) => one.firstIndex === firstIndex)
  const name = logFileName(firstIndex)
  if (file === undefined && found.some((one) => one.firstIndex < firstIndex))
    throw new CorruptLogError(`the file ${name} is missing`)
  if (file !== undefined && file.bytes !== bytes)
    throw new CorruptLogError(`the file ${name} has ${file.bytes} bytes, ${bytes} were written`)
  return file
}

const NO_HEADER = { firstIndex: 0, previous: { firstIndex: 0, bytes: 0 } }

/** A new file consists of its header only; a shorter file was never written to. */
function hasHeader({ header, bytes, firstIndex }: SegmentFile): boolean {
  if (header === undefined && bytes > SEGMENT_HEADER_BYTES)
    throw missingHeader(logFileName(firstIndex))
  return header !== undefined
}

function toLogSegment({ path, header, bytes, firstIndex }: SegmentFile): LogSegment {
  if (header === undefined) throw missingHeader(logFileName(firstIndex))
  return { path, header, bytes, sparseIndex: [{ index: firstIndex, offset: SEGMENT_HEADER_BYTES }] }
}

function missingHeader(name: string): CorruptLogError {
  return new CorruptLogError(`the file ${name} at byte 0: it does not begin as a file of the log`)
}

async function scanSegment(file: LogSegment): Promise<{ end: ScanEnd; blobsEnd: number }> {
  let blobsEnd = 0
  const records = scanRecords(segmentFrom(file))
  for (;;) {
    const next = await records.next()
    if (next.done === true) return { end: next.value, blobsEnd }
    const { index, offset, entries, blobs } = next.value
    addIndexPoint(file, { index, offset })
    if (blobs > 0) blobsEnd = index + entries
  }
}

export function addIndexPoint({ sparseIndex }: LogSegment, { index, offset }: EntryOffset): void {
  const last = sparseIndex.at(-1)
  if (last === undefined || offset - last.offset >= INDEX_POINT_INTERVAL_BYTES)
    sparseIndex.push({ index, offset })
}
