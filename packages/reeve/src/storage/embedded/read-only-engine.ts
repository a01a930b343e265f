import type { Fault } from '@reeve/kit/fault.ts'
import {
  toStoredRow,
  type CheckpointMark,
  type EnginePosition,
  type LogEntry,
  type StorageEngine,
  type StoredRow,
} from '../../state/index.ts'
import * as data from './data-directory.ts'
import * as layout from './layout.ts'
import { DamagedDatabase, inspectDatabase } from './leveldb/inspect-database.ts'
import { salvageDatabase, type SalvagedDatabase } from './leveldb/salvage-database.ts'
import { inspectLog } from './log/inspect-log.ts'
import { DamagedLog } from './log/log-file.ts'
import { salvageLog, type SalvagedLog } from './log/salvage-log.ts'
import { toStorageFault } from './storage-faults.ts'
import { isMark } from './stored-position.ts'
import { unescapeText } from './text-escape.ts'

const ROWS_PER_PAGE = 1_000

/**
 * Opens a storage whose disk takes no writes, so that a server can at least answer reads. It reads
 * the files themselves: to open the database would write. Every write rejects with `fault`. Rejects
 * with a Fault when the storage is damaged, in use, or holds nothing.
 */
export async function openReadOnlyEngine(directory: string, fault: Fault): Promise<ReadOnlyEngine> {
  const paths = data.dataPathsOf(directory)
  const state = await data.examineDirectory(paths)
  await data.assertUnlocked(paths)
  // An older format has its log elsewhere, and to move it takes space.
  if (state !== 'ready' || (await data.readFormat(paths)) < data.LOG_FILES_FORMAT) throw fault
  try {
    const reached = await data.readReached(paths)
    await inspectDatabase(paths.level, { skip: () => false, wal: reached.wal })
    await inspectLog(paths.log, reached.upTo)
    const database = await salvageDatabase(paths.level)
    const log = await salvageLog(paths.log)
    const checkpoint = markIn(database)
    if (checkpoint === undefined) throw new DamagedDatabase('the record checkpoint is unreadable')
    const lastIndex = Math.max(log.lastIndex, checkpoint.upTo)
    const firstIndex = log.firstIndex === 0 ? lastIndex + 1 : log.firstIndex
    return new ReadOnlyEngine({ lastIndex, firstIndex, checkpoint }, { database, log, fault })
  } catch (thrown) {
    if (!(thrown instanceof DamagedDatabase || thrown instanceof DamagedLog))
      throw toStorageFault(thrown, paths.root, 'opening it to read')
    throw data.damaged(paths, thrown.message, thrown)
  }
}

function markIn(database: SalvagedDatabase): CheckpointMark | undefined {
  const value = database.get(layout.metaKeys.checkpoint)
  if (value === undefined) return undefined
  const text = Buffer.from(value).toString('utf8')
  const mark: unknown = JSON.parse(layout.unseal(layout.metaKeys.checkpoint, text))
  return isMark(mark) ? mark : undefined
}

interface ReadOnlyParts {
  readonly database: SalvagedDatabase
  readonly log: SalvagedLog
  readonly fault: Fault
}

/** A storage that is only read. Its rows are loaded once. */
class ReadOnlyEngine implements StorageEngine {
  readonly opened: EnginePosition
  readonly #parts: ReadOnlyParts
  /** Found while the rows are loaded. */
  readonly #blobs = new Map<string, Uint8Array>()

  constructor(opened: EnginePosition, parts: ReadOnlyParts) {
    this.opened = opened
    this.#parts = parts
  }

  async *load(): AsyncGenerator<readonly StoredRow[]> {
    let page: StoredRow[] = []
    for await (const [key, value] of this.#parts.database.pairs()) {
      if (key.startsWith(layout.blobRange.gte))
        this.#blobs.set(layout.blobNameOf(key), Uint8Array.from(layout.fromBlobValue(key, value)))
      if (!key.startsWith(layout.rowRange.gte)) continue
      layout.assertRowValue(key, value)
      const stored = Buffer.from(value.subarray(layout.CRC_DIGITS)).toString('utf8')
      page.push(toStoredRow({ ...layout.rowNameOf(key), text: unescapeText(stored) }))
      if (page.length < ROWS_PER_PAGE) continue
      yield page
      page = []
    }
    yield page
    for await (const { blobs } of this.#parts.log.entries())
      for (const { key, bytes } of blobs)
        if (bytes === undefined) this.#blobs.delete(key)
        else this.#blobs.set(key, bytes)
  }

  async *read(fromIndex: number): AsyncGenerator<LogEntry> {
    for await (const entry of this.#parts.log.entries())
      if (entry.index >= fromIndex) yield { ...entry, blobs: [] }
  }

  async readBlob(key: string): Promise<Uint8Array | undefined> {
    return this.#blobs.get(key)
  }

  async append(): Promise<void> {
    throw this.#parts.fault
  }

  async checkpoint(): Promise<void> {
    throw this.#parts.fault
  }

  async trim(): Promise<void> {
    throw this.#parts.fault
  }

  async close(): Promise<void> {}
}
