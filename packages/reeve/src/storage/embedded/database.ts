import { mkdir, rm } from 'node:fs/promises'
import { ClassicLevel } from 'classic-level'
import type { DataPaths } from './data-directory.ts'
import { syncFolder } from './durable-file.ts'
import { memoryBytesMax, RotationGuard, rotationFolder } from './rotation-guard.ts'
import { codeOf } from './storage-faults.ts'

/** Up to twice this is held in memory. Larger means fewer rewrites of rows, and longer replay. */
export const WRITE_BUFFER_BYTES = 64 * 1024 * 1024
const TABLE_BYTES = 32 * 1024 * 1024
const BLOCK_BYTES = 16 * 1024

export type Operation = PutText | PutBytes | Delete
interface PutText {
  readonly type: 'put'
  readonly key: string
  readonly value: string
}
interface PutBytes {
  readonly type: 'put'
  readonly key: string
  readonly value: Uint8Array
  readonly valueEncoding: 'view'
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
  readonly #level: ClassicLevel
  readonly #guard: RotationGuard

  constructor(level: ClassicLevel, folder: string, bufferBytes: number) {
    this.#level = level
    this.#guard = new RotationGuard(rotationFolder(folder), bufferBytes)
  }

  async write(operations: Operation[]): Promise<void> {
    let bytesMax = 0
    for (const operation of operations) bytesMax += bytesMaxOf(operation)
    await this.#guard.run(bytesMax, () => this.#writeBatch(operations))
  }

  /** One call for each: it takes half as long as to have the database read them from a list. */
  async #writeBatch(operations: readonly Operation[]): Promise<void> {
    const batch = this.#level.batch()
    try {
      for (const operation of operations)
        if (operation.type === 'del') batch.del(operation.key)
        else if ('valueEncoding' in operation) batch.put(operation.key, operation.value, binary)
        else batch.put(operation.key, operation.value)
    } catch (thrown) {
      await batch.close()
      throw thrown
    }
    await batch.write({ sync: true })
  }

  async getText(key: string): Promise<string | undefined> {
    return await this.#level.get(key)
  }

  async getBytes(key: string): Promise<Uint8Array | undefined> {
    return await this.#level.get<string, Uint8Array>(key, { ...binary, fillCache: false })
  }

  /** Keys and values of a range, in pages, as of the moment of the first page. */
  pages(range: KeyRange): AsyncGenerator<[string, string][]> {
    return pagesOf(() => this.#level.iterator({ ...range, highWaterMarkBytes: PAGE_BYTES }))
  }

  keyPages(range: KeyRange): AsyncGenerator<string[]> {
    return pagesOf(() => this.#level.keys({ ...range, highWaterMarkBytes: PAGE_BYTES }))
  }

  async close(): Promise<void> {
    await this.#level.close()
  }
}

interface PageSource<T> {
  nextv(size: number): Promise<T[]>
  close(): Promise<void>
}

/** Fetches each page while the one before is worked on: the database has threads of its own. */
async function* pagesOf<T>(open: () => PageSource<T>): AsyncGenerator<T[]> {
  const source = open()
  try {
    let coming = source.nextv(PAGE_KEYS)
    for (;;) {
      const page = await coming
      if (page.length === 0) return
      coming = source.nextv(PAGE_KEYS)
      // Awaited in the next turn; when there is none, its failure concerns nobody.
      coming.catch(() => undefined)
      yield page
    }
  } finally {
    await source.close()
  }
}

interface KeyRange {
  readonly gte: string
  readonly lt?: string
  readonly lte?: string
}

interface OpenDatabaseOptions {
  readonly bufferBytes: number
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
  return new Database(level, paths.level, options.bufferBytes)
}

async function openLevel(folder: string, options: OpenDatabaseOptions): Promise<ClassicLevel> {
  // Not readable by others, whatever the directory above allows: rows hold hashes of secrets.
  if (options.create) await mkdir(folder, { mode: 0o700 }).catch(ifThere)
  const level = new ClassicLevel(folder, {
    createIfMissing: options.create,
    writeBufferSize: options.bufferBytes,
    maxFileSize: TABLE_BYTES,
    blockSize: BLOCK_BYTES,
  })
  await level.open()
  return level
}

function ifThere(thrown: unknown): void {
  if (codeOf(thrown) !== 'EEXIST') throw thrown
}

function isLocked(thrown: unknown): boolean {
  return thrown instanceof Error && codeOf(thrown.cause) === 'LEVEL_LOCKED'
}

const binary = { valueEncoding: 'view' } as const
const PAGE_KEYS = 1_000
const PAGE_BYTES = 4 * 1024 * 1024

function bytesMaxOf(operation: Operation): number {
  const keyBytes = Buffer.byteLength(operation.key)
  if (operation.type === 'del') return memoryBytesMax(keyBytes, 0)
  const { value } = operation
  const valueBytes = typeof value === 'string' ? Buffer.byteLength(value) : value.length
  return memoryBytesMax(keyBytes, valueBytes)
}
