import type { Fault } from '@reeve/kit/fault.ts'
import {
  splitStoredRow,
  type CheckpointPosition,
  type EnginePosition,
  type LogEntry,
  type StorageEngine,
  type StoredRow,
} from '../../state/index.ts'
import * as data from './data-directory.ts'
import * as layout from './row-format.ts'
import {
  CorruptDatabaseError,
  salvageDatabase,
  type SalvagedDatabase,
  verifyDatabase,
} from './leveldb/verify-database.ts'
import { CorruptLogError, scanLog } from './log/segment.ts'
import { salvageLog, type SalvagedLog } from './log/salvage-log.ts'
import { toStorageFault } from './storage-faults.ts'
import { isCheckpointPosition } from './stored-position.ts'
import { unescapeText } from '../text-escape.ts'

const ROWS_PER_PAGE = 1_000

/**
 * Opens a storage on a read-only disk, so that a server can at least serve reads. Reads the files
 * directly, because opening the database would write. Every write rejects with `fault`. Rejects
 * with a Fault if the storage is damaged, in use or empty.
 */
export async function openReadOnlyEngine(directory: string, fault: Fault): Promise<ReadOnlyEngine> {
  const paths = data.dataPathsOf(directory)
  const state = await data.inspectDirectory(paths)
  await data.assertUnlocked(paths)
  // An older format would need its log moved, which takes space.
  if (state !== 'ready' || (await data.readFormat(paths)) < data.LOG_FILES_FORMAT) throw fault
  try {
    const highWaterMark = await data.readHighWaterMark(paths)
    await verifyDatabase(paths.database, { isSkipped: () => false, wal: highWaterMark.wal })
    await scanLog(paths.log, highWaterMark.upTo)
    const database = await salvageDatabase(paths.database)
    const log = await salvageLog(paths.log)
    const checkpoint = readCheckpoint(database)
    if (checkpoint === undefined)
      throw new CorruptDatabaseError('the record checkpoint is unreadable')
    const lastIndex = Math.max(log.lastIndex, checkpoint.upTo)
    const firstIndex = log.firstIndex === 0 ? lastIndex + 1 : log.firstIndex
    return new ReadOnlyEngine({ lastIndex, firstIndex, checkpoint }, { database, log, fault })
  } catch (thrown) {
    if (!(thrown instanceof CorruptDatabaseError || thrown instanceof CorruptLogError))
      throw toStorageFault(thrown, paths.root, 'opening it to read')
    throw data.corruptDirectory(paths, thrown.message, thrown)
  }
}

function readCheckpoint(database: SalvagedDatabase): CheckpointPosition | undefined {
  const value = database.getMetadata(layout.METADATA_KEYS.checkpoint)
  if (value === undefined) return undefined
  const text = Buffer.from(value).toString('utf8')
  const position: unknown = JSON.parse(layout.stripChecksum(layout.METADATA_KEYS.checkpoint, text))
  return isCheckpointPosition(position) ? position : undefined
}

interface ReadOnlySources {
  readonly database: SalvagedDatabase
  readonly log: SalvagedLog
  readonly fault: Fault
}

/** A read-only storage. Its rows are loaded once. */
class ReadOnlyEngine implements StorageEngine {
  readonly initialPosition: EnginePosition
  readonly #sources: ReadOnlySources
  /** Collected while the rows are loaded. */
  readonly #blobs = new Map<string, Uint8Array>()

  constructor(position: EnginePosition, sources: ReadOnlySources) {
    this.initialPosition = position
    this.#sources = sources
  }

  async *load(): AsyncGenerator<readonly StoredRow[]> {
    let page: StoredRow[] = []
    for await (const [key, value] of this.#sources.database.entries()) {
      if (key.startsWith(layout.BLOB_RANGE.gte))
        this.#blobs.set(
          layout.parseBlobKey(key),
          Uint8Array.from(layout.decodeBlobValue(key, value)),
        )
      if (!key.startsWith(layout.ROW_RANGE.gte)) continue
      layout.assertRowValue(key, value)
      const stored = Buffer.from(value.subarray(layout.CRC_HEX_DIGITS)).toString('utf8')
      page.push(splitStoredRow({ ...layout.parseRowKey(key), text: unescapeText(stored) }))
      if (page.length < ROWS_PER_PAGE) continue
      yield page
      page = []
    }
    yield page
    for await (const { blobs } of this.#sources.log.entries())
      for (const { key, bytes } of blobs)
        if (bytes === undefined) this.#blobs.delete(key)
        else this.#blobs.set(key, bytes)
  }

  async *read(fromIndex: number): AsyncGenerator<LogEntry> {
    for await (const entry of this.#sources.log.entries())
      if (entry.index >= fromIndex) yield { ...entry, blobs: [] }
  }

  async readBlob(key: string): Promise<Uint8Array | undefined> {
    return this.#blobs.get(key)
  }

  async append(): Promise<void> {
    throw this.#sources.fault
  }

  async checkpoint(): Promise<void> {
    throw this.#sources.fault
  }

  async trim(): Promise<void> {
    throw this.#sources.fault
  }

  async close(): Promise<void> {}
}
