import { readdirSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import type { ClassicLevel } from 'classic-level'
import type { StringChunks } from '@reeve/kit/string-chunks.ts'
import { releaseBytes } from '@reeve/kit/bytes.ts'
import type { DataPaths } from './data-directory.ts'
import { fsyncDirectory } from '../durable-file.ts'
import { ROW_RANGE, encodeBlobValue, encodeRowValue } from './row-format.ts'
import {
  keyPages,
  openLevelDb,
  rowPages,
  entryPages,
  type KeyRange,
  packRows,
  type PackedRows,
} from './level-db.ts'
import { walNumbers } from './leveldb/verify-database.ts'
import { RowLoader } from './rows/row-thread.ts'
import { errorCode } from './storage-faults.ts'

/**
 * LevelDB write buffer; up to twice this is held in memory. Larger values mean fewer rewrites of
 * rows and a longer replay.
 */
export const WRITE_BUFFER_BYTES = 64 * 1024 * 1024
/** Below this size, loading rows on the main thread is faster than starting a worker. */
export const LOADER_THREAD_MIN_BYTES = 32 * 1024 * 1024

export type WriteOperation = PutText | PutBlob | PutRow | Delete
interface PutText {
  readonly type: 'text'
  readonly key: string
  readonly value: string
}
/** Encoded by `encodeBlobValue` one at a time, so that each copy is released at once. */
interface PutBlob {
  readonly type: 'blob'
  readonly key: string
  readonly bytes: Uint8Array
}
/** Encoded by `encodeRowValue` one at a time. */
interface PutRow {
  readonly type: 'row'
  readonly key: string
  readonly text: StringChunks
}
interface Delete {
  readonly type: 'del'
  readonly key: string
}

/**
 * The key-value database, where every write is one atomic batch that is durable when it resolves,
 * including the name of its file.
 */
export class RowDatabase {
  readonly #options: OpenDatabaseOptions
  #db: ClassicLevel
  #rotationGuard: WalRotationGuard
  /** Running loader threads. */
  readonly #loaders = new Set<RowLoader>()

  constructor(level: ClassicLevel, options: OpenDatabaseOptions) {
    this.#db = level
    this.#options = options
    this.#rotationGuard = createRotationGuard(level, options)
  }

  /** Reopens the database, which accepts no writes after a failed one. */
  async reopen(): Promise<void> {
    const { location } = this.#db
    await this.#db.close()
    this.#db = await openLevelDb(location, { ...this.#options, create: false })
    await fsyncDirectory(location)
    this.#rotationGuard = createRotationGuard(this.#db, this.#options)
  }

  async write(operations: Iterable<WriteOperation>): Promise<void> {
    const write = await this.prepareBatch(operations)
    await write()
  }

  /**
   * Encodes the operations into one batch and returns the function that writes it. Rejects with
   * errors thrown by `operations`.
   */
  async prepareBatch(operations: Iterable<WriteOperation>): Promise<() => Promise<void>> {
    const batch = this.#db.batch()
    let bytesMax = 0
    try {
      for (const operation of operations) bytesMax += addToBatch(batch, operation)
    } catch (thrown) {
      await batch.close()
      throw thrown
    }
    return () => this.#rotationGuard.run(bytesMax, () => batch.write({ sync: true }))
  }

  async getString(key: string): Promise<string | undefined> {
    return await this.#db.get(key)
  }

  async getBytes(key: string): Promise<Uint8Array | undefined> {
    return await this.#db.get<string, Uint8Array>(key, { ...binary, fillCache: false })
  }

  /** Entries of a key range in pages, as of the first page. */
  entryPages(range: KeyRange): AsyncGenerator<[string, string][]> {
    return entryPages(this.#db, range)
  }

  keyPages(range: KeyRange): AsyncGenerator<string[]> {
    return keyPages(this.#db, range)
  }

  /** All rows with verified checksums, as of the first page. */
  async *rows(): AsyncGenerator<PackedRows> {
    const { gte, lt } = ROW_RANGE
    if ((await this.#db.approximateSize(gte, lt)) < this.#options.rowThreadBytes)
      for await (const page of rowPages(this.#db)) yield packRows(page)
    else yield* this.#rowsFromThread()
  }

  async *#rowsFromThread(): AsyncGenerator<PackedRows> {
    const thread = new RowLoader(this.#db.location)
    this.#loaders.add(thread)
    try {
      for (;;) {
        const page = await thread.nextPage()
        if (page === undefined) return
        yield page
      }
    } finally {
      await thread.stop()
      this.#loaders.delete(thread)
    }
  }

  async close(): Promise<void> {
    await Promise.all(Array.from(this.#loaders, (thread) => thread.stop()))
    await this.#db.close()
  }
}

function createRotationGuard(level: ClassicLevel, options: OpenDatabaseOptions): WalRotationGuard {
  const folder = walDirectory(level.location)
  const sync = async (): Promise<void> => {
    options.onRotation()
    await folder.sync()
  }
  return new WalRotationGuard({ ...folder, sync }, options.bufferBytes)
}

interface OpenDatabaseOptions {
  readonly bufferBytes: number
  /** Called when the database starts a new write-ahead log file. */
  readonly onRotation: () => void
  /** Size of the rows from which a loader thread is used. */
  readonly rowThreadBytes: number
  /**
   * True if nothing was ever acknowledged in the database: it may be created, and recreated if
   * creation was interrupted.
   */
  readonly create: boolean
}

export async function openDatabase(
  paths: DataPaths,
  options: OpenDatabaseOptions,
): Promise<RowDatabase> {
  const level = await openLevelDb(paths.database, options).catch(async (thrown: unknown) => {
    if (!options.create || isLockError(thrown)) throw thrown
    await rm(paths.database, { recursive: true, force: true })
    return await openLevelDb(paths.database, options)
  })
  // Opening renames CURRENT and creates a log file; neither name is durable yet.
  await fsyncDirectory(paths.database)
  return new RowDatabase(level, options)
}

function isLockError(thrown: unknown): boolean {
  return thrown instanceof Error && errorCode(thrown.cause) === 'LEVEL_LOCKED'
}

const binary = { valueEncoding: 'view' } as const

/**
 * Adds one operation to the batch. One call per operation takes half as long as passing a list.
 * Returns an upper bound of the write-buffer space it needs.
 */
function addToBatch(batch: ReturnType<ClassicLevel['batch']>, operation: WriteOperation): number {
  const { type, key } = operation
  const keyBytes = Buffer.byteLength(key)
  if (type === 'del') {
    batch.del(key)
    return memtableBytesMax(keyBytes, 0)
  }
  if (type === 'text') {
    batch.put(key, operation.value)
    return memtableBytesMax(keyBytes, Buffer.byteLength(operation.value))
  }
  const value =
    type === 'row' ? encodeRowValue(key, operation.text) : encodeBlobValue(key, operation.bytes)
  const { length } = value
  // The batch keeps its own copy.
  batch.put(key, value, binary)
  if (type === 'blob') releaseBytes(value)
  return memtableBytesMax(keyBytes, length)
}

export interface WalDirectory {
  /** Names of the files in the database directory. */
  list(): readonly string[]
  /** Makes the directory entries durable. */
  sync(): Promise<void>
}

/**
 * Closes a gap in the durability of LevelDB. When its write buffer is full, it starts a new
 * write-ahead log file; a synced write syncs that file, but not the directory entry. Until the next
 * manifest change a power cut may lose the name, and the writes with it. So after each write this
 * class checks for a new log file and syncs the directory before the write counts as durable. Most
 * writes need no directory read: a new log file can appear only after the write buffer's size in
 * bytes was written, and `memtableBytesMax` bounds the space of a write.
 */
export class WalRotationGuard {
  readonly #directory: WalDirectory
  readonly #bufferBytes: number
  #newestWal: number
  /** Upper bound of the bytes in the write buffer. */
  #bufferedBytesMax = EMPTY_BUFFER_BYTES
  #inFlightBytesMax = 0
  #directorySync: Promise<void> | undefined

  constructor(folder: WalDirectory, bufferBytes: number) {
    this.#directory = folder
    this.#bufferBytes = bufferBytes
    this.#newestWal = newestWal(folder)
  }

  /**
   * Runs a write that takes at most `bytesMax` of the buffer. Resolves when the write is durable.
   */
  async run(bytesMax: number, write: () => Promise<void>): Promise<void> {
    this.#bufferedBytesMax += bytesMax
    this.#inFlightBytesMax += bytesMax
    try {
      await write()
      if (this.#bufferedBytesMax > this.#bufferBytes) this.#checkRotation()
      // Also wait if another write found the new file: this write may be in it.
      await this.#directorySync
    } finally {
      this.#inFlightBytesMax -= bytesMax
    }
  }

  #checkRotation(): void {
    const newest = newestWal(this.#directory)
    if (newest === this.#newestWal) return
    this.#newestWal = newest
    // The new buffer contains at most the writes in flight.
    this.#bufferedBytesMax = EMPTY_BUFFER_BYTES + this.#inFlightBytesMax
    this.#directorySync = this.#directory.sync()
  }
}

export function walDirectory(path: string): WalDirectory {
  return {
    // Synchronous: a directory that was just written is cached.
    list: () => readdirSync(path),
    sync: () => fsyncDirectory(path),
  }
}

/** One block of the buffer's allocator, and its first node. */
const EMPTY_BUFFER_BYTES = 4_096 + 256
/** Sequence, lengths, the tallest possible node, alignment and bookkeeping of one key. */
const KEY_OVERHEAD_BYTES = 144

/**
 * Upper bound of the buffer space of a key and value: up to a quarter of each block stays unused.
 */
export function memtableBytesMax(keyBytes: number, valueBytes: number): number {
  return Math.ceil(((keyBytes + valueBytes + KEY_OVERHEAD_BYTES) * 4) / 3)
}

function newestWal(folder: WalDirectory): number {
  return walNumbers(folder.list()).at(-1) ?? 0
}
