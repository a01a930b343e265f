import { mkdir, rm } from 'node:fs/promises'
import { ClassicLevel } from 'classic-level'
import type { DataPaths } from './data-directory.ts'
import { syncFolder } from './durable-file.ts'
import { toRowValue } from './layout.ts'
import { memoryBytesMax, RotationGuard, rotationFolder } from './rotation-guard.ts'
import { codeOf } from './storage-faults.ts'

/** Up to twice this is held in memory. Larger means fewer rewrites of rows, and longer replay. */
export const WRITE_BUFFER_BYTES = 64 * 1024 * 1024
const TABLE_BYTES = 32 * 1024 * 1024
const BLOCK_BYTES = 16 * 1024

export type Operation = PutText | PutBytes | PutRow | Delete
interface PutText {
  readonly type: 'text'
  readonly key: string
  readonly value: string
}
interface PutBytes {
  readonly type: 'bytes'
  readonly key: string
  readonly value: Uint8Array
}
/** Put as `toRowValue` puts it into bytes, one at a time. */
interface PutRow {
  readonly type: 'row'
  readonly key: string
  readonly text: string
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

  async write(operations: readonly Operation[]): Promise<void> {
    const batch = this.#level.batch()
    let bytesMax = 0
    try {
      for (const operation of operations) bytesMax += putInto(batch, operation)
    } catch (thrown) {
      await batch.close()
      throw thrown
    }
    await this.#guard.run(bytesMax, () => batch.write({ sync: true }))
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
  const bytes = type === 'row' ? toRowValue(key, operation.text) : operation.value
  batch.put(key, bytes, binary)
  return memoryBytesMax(keyBytes, bytes.length)
}
