import { randomInt } from 'node:crypto'
import { constants } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { assert } from '@reeve/kit/fault.ts'
import type { LogEntry, AppendEntry } from '../../../state/index.ts'
import { errorCode } from '../storage-faults.ts'
import {
  addIndexPoint,
  segmentFrom,
  checksumMismatch,
  type LogScan,
  type LogSegment,
  CorruptLogError,
  encodeSegmentHeader,
  SEGMENT_HEADER_BYTES,
  logFileName,
  scanRecords,
  type SegmentHeader,
} from './segment.ts'
import { SYSTEM_LOG_DISK, type LogDisk, type LogHandle, writevAll } from '../../durable-file.ts'
import { decodeEntries, RecordEncoder } from './record.ts'

/**
 * Segment size after which a new segment is started. Segments are removed when all their entries
 * are trimmed.
 */
const SEGMENT_BYTES_MAX = 64 * 1024 * 1024
const SALT_COUNT = 2 ** 32
/**
 * On Linux a write to a file opened with O_DSYNC includes fdatasync. A second call would wait for
 * another tick of a busy server. On other systems O_DSYNC may not reach the disk.
 */
const WRITES_ARE_DURABLE = process.platform === 'linux'
const { O_CREAT, O_EXCL, O_RDWR, O_WRONLY } = constants
const DURABLE_WRITE_FLAG = WRITES_ARE_DURABLE ? constants.O_DSYNC : 0

export interface SegmentedLogOptions {
  readonly segmentBytesMax?: number | undefined
  /** Removes a file that is trimmed. */
  readonly remove?: (path: string) => Promise<void>
  /** Write calls; those of the system by default. */
  readonly disk?: LogDisk | undefined
}

/** Position of an active reader. */
interface Reader {
  nextIndex: number
}

/**
 * The log of one server: segments of records, where each record is one append. Plain files beside
 * the database, because commits are written once and seldom read, while the database would sort,
 * compress and merge them repeatedly (docs/contributing/decisions/0003-embedded-storage.md).
 */
export class SegmentedLog {
  readonly #folder: string
  readonly #segments: LogSegment[]
  readonly #segmentBytesMax: number
  readonly #remove: (path: string) => Promise<void>
  readonly #disk: LogDisk
  readonly #writer = new RecordEncoder()
  readonly #readers = new Set<Reader>()
  #handle: LogHandle
  #nextIndex: number
  /** End of the log before the last append. */
  #beforeLastAppend = { next: 0, bytes: 0 }

  /** Creates an empty log, replacing any existing one. */
  static async create(
    folder: string,
    firstIndex: number,
    options: SegmentedLogOptions = {},
  ): Promise<SegmentedLog> {
    const { disk = SYSTEM_LOG_DISK } = options
    await disk.removeDirectory(folder)
    // Not readable by others, whatever the directory above allows: rows hold hashes of secrets.
    await mkdir(folder, { mode: 0o700 })
    await disk.fsyncDirectory(dirname(folder))
    const { file, handle } = await createSegment(disk, folder, newHeader(firstIndex))
    return new SegmentedLog(folder, { segments: [file], handle, nextIndex: firstIndex }, options)
  }

  /** Opens the log for appending. A torn tail is truncated first. */
  static async open(
    folder: string,
    { segments, end, orphans }: LogScan,
    options: SegmentedLogOptions = {},
  ): Promise<SegmentedLog> {
    const { disk = SYSTEM_LOG_DISK } = options
    for (const path of orphans) await disk.unlink(path)
    const newest = newestSegment(segments)
    const handle = await disk.open(newest.path, O_RDWR | DURABLE_WRITE_FLAG)
    try {
      if (end.isTorn) {
        await handle.truncate(end.offset)
        await handle.sync()
      }
    } catch (thrown) {
      await handle.close()
      throw thrown
    }
    newest.bytes = end.offset
    return new SegmentedLog(folder, { segments, handle, nextIndex: end.index }, options)
  }

  private constructor(
    folder: string,
    { segments, handle, nextIndex }: OpenedSegments,
    { segmentBytesMax = SEGMENT_BYTES_MAX, disk = SYSTEM_LOG_DISK, remove }: SegmentedLogOptions,
  ) {
    this.#disk = disk
    this.#folder = folder
    this.#segments = [...segments]
    this.#handle = handle
    this.#nextIndex = nextIndex
    this.#segmentBytesMax = segmentBytesMax
    this.#remove = remove ?? ((path) => disk.unlink(path))
  }

  /** Index of the oldest entry in a file that is still there. */
  get firstIndex(): number {
    return this.#segments[0]?.sparseIndex[0]?.index ?? this.#nextIndex
  }

  /** Resolves when all entries are durable. No append may follow a failure. */
  async append(entries: readonly AppendEntry[]): Promise<void> {
    if (newestSegment(this.#segments).bytes >= this.#segmentBytesMax) await this.#startSegment()
    const file = newestSegment(this.#segments)
    this.#beforeLastAppend = { next: this.#nextIndex, bytes: file.bytes }
    const buffers = this.#writer.encode(entries, file.header.salt)
    const end = await writevAll(this.#handle, buffers, file.bytes)
    if (!WRITES_ARE_DURABLE) await this.#handle.datasync()
    addIndexPoint(file, { index: this.#nextIndex, offset: file.bytes })
    file.bytes = end
    this.#nextIndex += entries.length
  }

  /**
   * Entries of an index range, both ends included, in pages. Segments that a reader still needs are
   * kept.
   */
  async *read(from: number, to: number): AsyncGenerator<readonly LogEntry[]> {
    const reader: Reader = { nextIndex: from }
    this.#readers.add(reader)
    try {
      while (reader.nextIndex <= to) {
        const file = this.#segments.findLast((one) => one.header.firstIndex <= reader.nextIndex)
        if (file === undefined)
          throw new CorruptLogError(`log entry ${reader.nextIndex} is missing`)
        yield* this.#readFile(file, reader, to)
      }
    } finally {
      this.#readers.delete(reader)
    }
  }

  async *#readFile(
    file: LogSegment,
    reader: Reader,
    to: number,
  ): AsyncGenerator<readonly LogEntry[]> {
    const records = scanRecords(segmentFrom(file, reader.nextIndex))
    try {
      while (reader.nextIndex <= to) {
        const next = await records.next()
        if (next.done === true) {
          // Further entries are in the next segment.
          if (!next.value.isTorn && next.value.index === reader.nextIndex) return
          throw checksumMismatch(file, next.value.offset)
        }
        const page = [...decodeEntries(next.value.bytes)].filter(
          ({ index }) => index >= reader.nextIndex && index <= to,
        )
        if (page.length === 0) continue
        reader.nextIndex += page.length
        yield page
      }
    } finally {
      await records.return({ index: 0, offset: 0, isTorn: false, tornBytes: 0 })
    }
  }

  /**
   * Rolls back a failed append: a record, a partial record, or a segment that was started for it.
   * Afterwards the log durably ends before the entry `next`.
   */
  async rollBackAppend(nextIndex: number): Promise<void> {
    if (this.#nextIndex !== nextIndex) {
      // The record is complete, but its blobs were not written.
      const file = newestSegment(this.#segments)
      assert(this.#beforeLastAppend.next === nextIndex, 'only the last append can be taken back')
      file.bytes = this.#beforeLastAppend.bytes
      const keptPoints = file.sparseIndex.filter((place, i) => i === 0 || place.index < nextIndex)
      file.sparseIndex.splice(0, file.sparseIndex.length, ...keptPoints)
      this.#nextIndex = nextIndex
    }
    const nextPath = join(this.#folder, logFileName(this.#nextIndex))
    const newest = newestSegment(this.#segments)
    if (newest.path !== nextPath) await this.#disk.unlink(nextPath).catch(ignoreMissing)
    await this.#handle.truncate(newest.bytes)
    await this.#handle.sync()
    await this.#disk.fsyncDirectory(this.#folder)
  }

  /** Bytes of the entries after an index, overestimated by up to one segment. */
  bytesAfter(index: number): number {
    let bytes = 0
    for (const file of this.#segments.toReversed()) {
      bytes += file.bytes
      if (file.header.firstIndex <= index + 1) break
    }
    return bytes
  }

  /** Removes segments whose entries are all before an index and that have no reader. */
  async trim(beforeIndex: number): Promise<void> {
    const oldestReadIndex = Math.min(...[...this.#readers].map(({ nextIndex }) => nextIndex))
    const oldestKeptIndex = Math.min(beforeIndex, oldestReadIndex)
    for (;;) {
      const [oldest, next] = this.#segments
      if (oldest === undefined || next === undefined || next.header.firstIndex > oldestKeptIndex)
        return
      this.#segments.shift()
      await this.#remove(oldest.path)
    }
  }

  /** Changes the first index of an empty log. */
  async startAt(firstIndex: number): Promise<void> {
    const [empty] = this.#segments
    if (empty === undefined || firstIndex === this.#nextIndex) return
    assert(empty.bytes === SEGMENT_HEADER_BYTES, 'only an empty log begins anywhere')
    await this.#switchTo(newHeader(firstIndex))
    this.#segments.shift()
    this.#nextIndex = firstIndex
    await this.#disk.unlink(empty.path)
  }

  async close(): Promise<void> {
    await this.#handle.close()
  }

  async #startSegment(): Promise<void> {
    const { header, bytes } = newestSegment(this.#segments)
    await this.#switchTo(newHeader(this.#nextIndex, { firstIndex: header.firstIndex, bytes }))
  }

  async #switchTo(head: SegmentHeader): Promise<void> {
    const { file, handle } = await createSegment(this.#disk, this.#folder, head)
    await this.#handle.close()
    this.#handle = handle
    this.#segments.push(file)
  }
}

interface OpenedSegments {
  readonly segments: readonly LogSegment[]
  readonly handle: LogHandle
  /** Index of the next entry. */
  readonly nextIndex: number
}

function newHeader(firstIndex: number, before = { firstIndex: 0, bytes: 0 }): SegmentHeader {
  return { firstIndex, previous: before, salt: randomInt(SALT_COUNT) }
}

/** Creates a segment; its header and name are durable before records are written. */
async function createSegment(disk: LogDisk, folder: string, head: SegmentHeader) {
  const path = join(folder, logFileName(head.firstIndex))
  const handle = await disk.open(path, O_WRONLY | O_CREAT | O_EXCL | DURABLE_WRITE_FLAG, 0o600)
  try {
    await writevAll(handle, [encodeSegmentHeader(head)], 0)
    await handle.sync()
    await disk.fsyncDirectory(folder)
  } catch (thrown) {
    await handle.close()
    throw thrown
  }
  const places = [{ index: head.firstIndex, offset: SEGMENT_HEADER_BYTES }]
  const file: LogSegment = { path, header: head, bytes: SEGMENT_HEADER_BYTES, sparseIndex: places }
  return { file, handle }
}

function ignoreMissing(thrown: unknown): void {
  if (errorCode(thrown) !== 'ENOENT') throw thrown
}

function newestSegment(files: readonly LogSegment[]): LogSegment {
  const newest = files.at(-1)
  assert(newest !== undefined, 'a log has a file')
  return newest
}
