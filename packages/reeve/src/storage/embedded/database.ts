import { rm } from 'node:fs/promises'
import type { ClassicLevel } from 'classic-level'
import type { StringChunks } from '@reeve/kit/string-chunks.ts'
import { releaseBytes } from '@reeve/kit/bytes.ts'
import type { DataPaths } from './data-directory.ts'
import { syncFolder } from './durable-file.ts'
import { rowRange, toBlobValue, toRowValue } from './layout.ts'
import { keyPages, openLevel, rawRowPages, textPages, type KeyRange } from './level.ts'
import { memoryBytesMax, RotationGuard, rotationFolder } from './rotation-guard.ts'
import { packRows, type PackedRows } from './rows/packed-rows.ts'
import { RowThread } from './rows/row-thread.ts'
import { codeOf } from './storage-faults.ts'

/** Up to twice this is held in memory. Larger means fewer rewrites of rows, and longer replay. */
export const WRITE_BUFFER_BYTES = 64 * 1024 * 1024
/** Fewer rows than these bytes on disk hold are read before a thread for them has started. */
export const ROW_THREAD_BYTES = 32 * 1024 * 1024

export type Operation = PutText | PutBlob | PutRow | Delete
interface PutText {
  readonly type: 'text'
  readonly key: string
  readonly value: string
}
/** Put as `toBlobValue` makes it, one at a time: its copy is released at once. */
interface PutBlob {
  readonly type: 'blob'
  readonly key: string
  readonly bytes: Uint8Array
}
/** Put as `toRowValue` puts it into bytes, one at a time. */
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
 * The key-value database, with one rule on top: every write is one atomic batch that is durable,
 * in a file whose name is durable too, when it resolves.
 */
export class Database {
  readonly #options: OpenDatabaseOptions
  #level: ClassicLevel
  #guard: RotationGuard
  /** Those that read rows now. */
  readonly #threads = new Set<RowThread>()

  constructor(level: ClassicLevel, options: OpenDatabaseOptions) {
    this.#level = level
    this.#options = options
    this.#guard = guardOf(level, options)
  }

  /** After a write failed the database takes no other until it was opened again. */
  async reopen(): Promise<void> {
    const { location } = this.#level
    await this.#level.close()
    this.#level = await openLevel(location, { ...this.#options, create: false })
    await syncFolder(location)
    this.#guard = guardOf(this.#level, this.#options)
  }

  async write(operations: Iterable<Operation>): Promise<void> {
    const write = await this.gather(operations)
    await write()
  }

  /** One write of all of them, still to be carried out. What they throw is thrown before it. */
  async gather(operations: Iterable<Operation>): Promise<() => Promise<void>> {
    const batch = this.#level.batch()
    let bytesMax = 0
    try {
      for (const operation of operations) bytesMax += putInto(batch, operation)
    } catch (thrown) {
      await batch.close()
      throw thrown
    }
    return () => this.#guard.run(bytesMax, () => batch.write({ sync: true }))
  }

  async getText(key: string): Promise<string | undefined> {
    return await this.#level.get(key)
  }

  async getBytes(key: string): Promise<Uint8Array | undefined> {
    return await this.#level.get<string, Uint8Array>(key, { ...binary, fillCache: false })
  }

  /** Keys and values of a range, in pages, as of the moment of the first page. */
  pages(range: KeyRange): AsyncGenerator<[string, string][]> {
    return textPages(this.#level, range)
  }

  keyPages(range: KeyRange): AsyncGenerator<string[]> {
    return keyPages(this.#level, range)
  }

  /** All rows, as of the moment of the first page, checked. */
  async *rows(): AsyncGenerator<PackedRows> {
    const { gte, lt } = rowRange
    if ((await this.#level.approximateSize(gte, lt)) < this.#options.rowThreadBytes)
      for await (const page of rawRowPages(this.#level)) yield packRows(page)
    else yield* this.#rowsOfThread()
  }

  async *#rowsOfThread(): AsyncGenerator<PackedRows> {
    const thread = new RowThread(this.#level.location)
    this.#threads.add(thread)
    try {
      for (;;) {
        const page = await thread.next()
        if (page === undefined) return
        yield page
      }
    } finally {
      await thread.stop()
      this.#threads.delete(thread)
    }
  }

  async close(): Promise<void> {
    await Promise.all(Array.from(this.#threads, (thread) => thread.stop()))
    await this.#level.close()
  }
}

function guardOf(level: ClassicLevel, options: OpenDatabaseOptions): RotationGuard {
  const folder = rotationFolder(level.location)
  const sync = async (): Promise<void> => {
    options.onRotation()
    await folder.sync()
  }
  return new RotationGuard({ ...folder, sync }, options.bufferBytes)
}

interface OpenDatabaseOptions {
  readonly bufferBytes: number
  /** Called when it goes on in a new write-ahead log file. */
  readonly onRotation: () => void
  /** From how many bytes of rows on a thread reads them. */
  readonly rowThreadBytes: number
  /** Nothing was ever acknowledged in it: it may be made, and made again when half made. */
  readonly create: boolean
}

export async function openDatabase(
  paths: DataPaths,
  options: OpenDatabaseOptions,
): Promise<Database> {
  const level = await openLevel(paths.level, options).catch(async (thrown: unknown) => {
    if (!options.create || isLocked(thrown)) throw thrown
    await rm(paths.level, { recursive: true, force: true })
    return await openLevel(paths.level, options)
  })
  // Opening renames CURRENT and begins a log file; neither name is durable yet.
  await syncFolder(paths.level)
  return new Database(level, options)
}

function isLocked(thrown: unknown): boolean {
  return thrown instanceof Error && codeOf(thrown.cause) === 'LEVEL_LOCKED'
}

const binary = { valueEncoding: 'view' } as const

/**
 * One call for each: it takes half as long as to have the database read them from a list. Returns
 * the most that it takes of the database's buffer.
 */
function putInto(batch: ReturnType<ClassicLevel['batch']>, operation: Operation): number {
  const { type, key } = operation
  const keyBytes = Buffer.byteLength(key)
  if (type === 'del') {
    batch.del(key)
    return memoryBytesMax(keyBytes, 0)
  }
  if (type === 'text') {
    batch.put(key, operation.value)
    return memoryBytesMax(keyBytes, Buffer.byteLength(operation.value))
  }
  const value = type === 'row' ? toRowValue(key, operation.text) : toBlobValue(key, operation.bytes)
  const { length } = value
  // The batch has a copy of its own.
  batch.put(key, value, binary)
  if (type === 'blob') releaseBytes(value)
  return memoryBytesMax(keyBytes, length)
}
