import { randomInt } from 'node:crypto'
import { constants } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { assert } from '@reeve/kit/fault.ts'
import type { LogEntry, NewLogEntry } from '../../../state/index.ts'
import { codeOf } from '../storage-faults.ts'
import { notePlace, sourceOf, unsound, type InspectedLog, type KnownFile } from './inspect-log.ts'
import {
  DamagedLog,
  encodeFileHead,
  FILE_HEAD_BYTES,
  logFileName,
  recordsOf,
  type LogFileHead,
} from './log-file.ts'
import { systemLogDisk, type LogDisk, type LogHandle } from './log-disk.ts'
import { entriesIn, RecordWriter } from './record.ts'
import { writePieces } from './write-pieces.ts'

/** A file that is longer is followed by another. Files go when all of their entries are trimmed. */
const FILE_BYTES_MAX = 64 * 1024 * 1024
const SALTS = 2 ** 32
/**
 * On Linux a write to a file opened with O_DSYNC does what fdatasync does: no second call, which
 * would wait for another turn of a server that may be busy. Elsewhere it may stay in the disk.
 */
const WRITES_ARE_DURABLE = process.platform === 'linux'
const { O_CREAT, O_EXCL, O_RDWR, O_WRONLY } = constants
const DURABLY = WRITES_ARE_DURABLE ? constants.O_DSYNC : 0

export interface LogFilesOptions {
  readonly fileBytesMax?: number | undefined
  /** Removes a file that is trimmed. */
  readonly remove?: (path: string) => Promise<void>
  /** By which it is written; the system's unless given. */
  readonly disk?: LogDisk | undefined
}

/** An index from which somebody still reads. */
interface Reader {
  at: number
}

/**
 * The log of one server: files of records, each record one append. A plain file beside the database
 * because a commit is written once and read seldom: the database would sort it, pack it and merge
 * it again and again (docs/contributing/decisions/0003-embedded-storage.md).
 */
export class LogFiles {
  readonly #folder: string
  readonly #files: KnownFile[]
  readonly #fileBytesMax: number
  readonly #remove: (path: string) => Promise<void>
  readonly #disk: LogDisk
  readonly #writer = new RecordWriter()
  readonly #readers = new Set<Reader>()
  #handle: LogHandle
  #next: number
  /** Where the log ended before the last append. */
  #before = { next: 0, bytes: 0 }

  /** A log without entries; what is in its place goes. */
  static async create(
    folder: string,
    firstIndex: number,
    options: LogFilesOptions = {},
  ): Promise<LogFiles> {
    const { disk = systemLogDisk } = options
    await disk.removeFolder(folder)
    // Not readable by others, whatever the directory above allows: rows hold hashes of secrets.
    await mkdir(folder, { mode: 0o700 })
    await disk.syncFolder(dirname(folder))
    const { file, handle } = await beginFile(disk, folder, headOf(firstIndex))
    return new LogFiles(folder, { files: [file], handle, next: firstIndex }, options)
  }

  /** Goes on where the log ends. What a power cut left behind the end goes first. */
  static async open(
    folder: string,
    { files, end, leftovers }: InspectedLog,
    options: LogFilesOptions = {},
  ): Promise<LogFiles> {
    const { disk = systemLogDisk } = options
    for (const path of leftovers) await disk.unlink(path)
    const newest = newestOf(files)
    const handle = await disk.open(newest.path, O_RDWR | DURABLY)
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
    return new LogFiles(folder, { files, handle, next: end.index }, options)
  }

  private constructor(
    folder: string,
    { files, handle, next }: Opened,
    { fileBytesMax = FILE_BYTES_MAX, disk = systemLogDisk, remove }: LogFilesOptions,
  ) {
    this.#disk = disk
    this.#folder = folder
    this.#files = [...files]
    this.#handle = handle
    this.#next = next
    this.#fileBytesMax = fileBytesMax
    this.#remove = remove ?? ((path) => disk.unlink(path))
  }

  /** Index of the oldest entry in a file that is still there. */
  get firstIndex(): number {
    return this.#files[0]?.places[0]?.index ?? this.#next
  }

  /** Resolves when the entries are durable, all or none. After a failure nothing may follow. */
  async append(entries: readonly NewLogEntry[]): Promise<void> {
    if (newestOf(this.#files).bytes >= this.#fileBytesMax) await this.#beginNext()
    const file = newestOf(this.#files)
    this.#before = { next: this.#next, bytes: file.bytes }
    const pieces = this.#writer.write(entries, file.head.salt)
    const end = await writePieces(this.#handle, pieces, file.bytes)
    if (!WRITES_ARE_DURABLE) await this.#handle.datasync()
    notePlace(file, { index: this.#next, offset: file.bytes })
    file.bytes = end
    this.#next += entries.length
  }

  /**
   * Entries from one index to another, both included, in pages. Files that a reader has not come
   * to yet are kept for it.
   */
  async *read(from: number, to: number): AsyncGenerator<readonly LogEntry[]> {
    const reader: Reader = { at: from }
    this.#readers.add(reader)
    try {
      while (reader.at <= to) {
        const file = this.#files.findLast((one) => one.head.firstIndex <= reader.at)
        if (file === undefined) throw new DamagedLog(`log entry ${reader.at} is missing`)
        yield* this.#readFile(file, reader, to)
      }
    } finally {
      this.#readers.delete(reader)
    }
  }

  async *#readFile(
    file: KnownFile,
    reader: Reader,
    to: number,
  ): AsyncGenerator<readonly LogEntry[]> {
    const records = recordsOf(sourceOf(file, reader.at))
    try {
      while (reader.at <= to) {
        const next = await records.next()
        if (next.done === true) {
          // Whoever asks for more than there is in this file finds it in the next.
          if (!next.value.isTorn && next.value.index === reader.at) return
          throw unsound(file, next.value.offset)
        }
        const page = [...entriesIn(next.value.bytes)].filter(
          ({ index }) => index >= reader.at && index <= to,
        )
        if (page.length === 0) continue
        reader.at += page.length
        yield page
      }
    } finally {
      await records.return({ index: 0, offset: 0, isTorn: false, tornBytes: 0 })
    }
  }

  /**
   * Takes back an append that failed: a record, half of one, or a file that was begun for it. The
   * log ends before the entry `next`, durably.
   */
  async takeBack(next: number): Promise<void> {
    if (this.#next !== next) {
      // The record is whole, but what belongs to it beside the log was not written.
      const file = newestOf(this.#files)
      assert(this.#before.next === next, 'only the last append can be taken back')
      file.bytes = this.#before.bytes
      const kept = file.places.filter((place, i) => i === 0 || place.index < next)
      file.places.splice(0, file.places.length, ...kept)
      this.#next = next
    }
    const begun = join(this.#folder, logFileName(this.#next))
    const newest = newestOf(this.#files)
    if (newest.path !== begun) await this.#disk.unlink(begun).catch(ifMissing)
    await this.#handle.truncate(newest.bytes)
    await this.#handle.sync()
    await this.#disk.syncFolder(this.#folder)
  }

  /** Bytes of entries behind an index, up to one file more than there are. */
  bytesAfter(index: number): number {
    let bytes = 0
    for (const file of this.#files.toReversed()) {
      bytes += file.bytes
      if (file.head.firstIndex <= index + 1) break
    }
    return bytes
  }

  /** Removes files whose entries are all before an index, and that nobody reads. */
  async trim(beforeIndex: number): Promise<void> {
    const readFrom = Math.min(...[...this.#readers].map(({ at }) => at))
    const keepFrom = Math.min(beforeIndex, readFrom)
    for (;;) {
      const [oldest, next] = this.#files
      if (oldest === undefined || next === undefined || next.head.firstIndex > keepFrom) return
      this.#files.shift()
      await this.#remove(oldest.path)
    }
  }

  /** Of a log without entries: the first is to be another. */
  async beginAt(firstIndex: number): Promise<void> {
    const [empty] = this.#files
    if (empty === undefined || firstIndex === this.#next) return
    assert(empty.bytes === FILE_HEAD_BYTES, 'only an empty log begins anywhere')
    await this.#replaceHandle(headOf(firstIndex))
    this.#files.shift()
    this.#next = firstIndex
    await this.#disk.unlink(empty.path)
  }

  async close(): Promise<void> {
    await this.#handle.close()
  }

  async #beginNext(): Promise<void> {
    const { head, bytes } = newestOf(this.#files)
    await this.#replaceHandle(headOf(this.#next, { firstIndex: head.firstIndex, bytes }))
  }

  async #replaceHandle(head: LogFileHead): Promise<void> {
    const { file, handle } = await beginFile(this.#disk, this.#folder, head)
    await this.#handle.close()
    this.#handle = handle
    this.#files.push(file)
  }
}

interface Opened {
  readonly files: readonly KnownFile[]
  readonly handle: LogHandle
  /** Index of the next entry. */
  readonly next: number
}

function headOf(firstIndex: number, before = { firstIndex: 0, bytes: 0 }): LogFileHead {
  return { firstIndex, before, salt: randomInt(SALTS) }
}

/** Its head and name are durable before anything else is in it. */
async function beginFile(disk: LogDisk, folder: string, head: LogFileHead) {
  const path = join(folder, logFileName(head.firstIndex))
  const handle = await disk.open(path, O_WRONLY | O_CREAT | O_EXCL | DURABLY, 0o600)
  try {
    await writePieces(handle, [encodeFileHead(head)], 0)
    await handle.sync()
    await disk.syncFolder(folder)
  } catch (thrown) {
    await handle.close()
    throw thrown
  }
  const places = [{ index: head.firstIndex, offset: FILE_HEAD_BYTES }]
  const file: KnownFile = { path, head, bytes: FILE_HEAD_BYTES, places }
  return { file, handle }
}

function ifMissing(thrown: unknown): void {
  if (codeOf(thrown) !== 'ENOENT') throw thrown
}

function newestOf(files: readonly KnownFile[]): KnownFile {
  const newest = files.at(-1)
  assert(newest !== undefined, 'a log has a file')
  return newest
}
