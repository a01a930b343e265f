import { open, readdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { errorCode } from '../storage-faults.ts'
import {
  CorruptLogError,
  decodeSegmentHeader,
  SEGMENT_HEADER_BYTES,
  firstIndexOf,
  findIntactRecord,
  logFileName,
  scanRecords,
  type ScanEnd,
  type SegmentHeader,
  type EntryOffset,
} from './log-file.ts'

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
