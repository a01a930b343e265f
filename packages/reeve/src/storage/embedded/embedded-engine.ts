import { assert, Fault, errorMessage } from '@reeve/kit/fault.ts'
import { chunksLength } from '@reeve/kit/string-chunks.ts'
import type {
  BlobChange,
  CheckpointPosition,
  CheckpointRow,
  EnginePosition,
  LogEntry,
  MigratableEngine,
  AppendEntry,
  RecoverableEngine,
  Recovery,
  StoredBlob,
  StoredRow,
} from '../../state/index.ts'
import { assertContiguous, assertCheckpoint, clampTrim, InFlightCalls } from '../engine-rules.ts'
import { freeBytes, writeHighWaterMark, type DataPaths } from './data-directory.ts'
import type { RowDatabase, WriteOperation } from './row-database.ts'
import * as layout from './row-format.ts'
import { newestWal, type WalPosition } from './leveldb/verify-database.ts'
import { CorruptLogError } from './log/segment.ts'
import type { SegmentedLog } from './log/segmented-log.ts'
import type { FileReaper } from './file-reaper.ts'
import type { DiskReserve } from './reserve.ts'
import { unpackRows } from './level-db.ts'
import { storageFault, toStorageFault } from './storage-faults.ts'

/** Free space from which all writes are accepted again; less would be filled by the next writes. */
const RESUME_FREE_BYTES_MIN = 64 * 1024 * 1024
const DELETE_FREE_BYTES_MIN = 1024 * 1024

interface EmbeddedEngineParts {
  readonly paths: DataPaths
  readonly database: RowDatabase
  readonly log: SegmentedLog
  readonly removed: FileReaper
  readonly reserve: DiskReserve
  /** True if the storage was opened on a full disk, using the reserve. */
  readonly isShort: boolean
  readonly opened: EnginePosition
  /** Called when all resources are released. */
  readonly onClosed: () => void
}

/** Storage of one server: a directory on a local disk. */
export class EmbeddedEngine implements MigratableEngine, RecoverableEngine {
  readonly initialPosition: EnginePosition
  readonly #paths: DataPaths
  readonly #database: RowDatabase
  readonly #log: SegmentedLog
  readonly #fileReaper: FileReaper
  readonly #reserve: DiskReserve
  readonly #onClosed: () => void
  readonly #inFlightCalls = new InFlightCalls()
  #lastIndex: number
  #firstIndex: number
  #checkpointIndex: number
  /** Size of the next checkpoint batch. */
  #batchBytes = BATCH_BYTES_MIN
  #appending = false
  #isMaintaining = false
  #writeFault: Fault | undefined
  /** True while the disk is full: only the log is written, using the space of the reserve. */
  #isDiskFull: boolean
  #closing: Promise<void> | undefined

  constructor(parts: EmbeddedEngineParts) {
    this.initialPosition = parts.opened
    this.#paths = parts.paths
    this.#database = parts.database
    this.#log = parts.log
    this.#fileReaper = parts.removed
    this.#reserve = parts.reserve
    this.#isDiskFull = parts.isShort
    this.#onClosed = parts.onClosed
    this.#lastIndex = parts.opened.lastIndex
    this.#firstIndex = parts.opened.firstIndex
    this.#checkpointIndex = parts.opened.checkpoint.upTo
  }

  async append(entries: readonly AppendEntry[]): Promise<void> {
    await this.#inFlightCalls.run(async () => {
      assert(!this.#appending, 'an append waits for the one before')
      if (entries.length === 0) return
      assertContiguous(entries, this.#lastIndex)
      this.#appending = true
      try {
        await this.#writeOrFail('appending to the log', () => this.#log.append(entries))
        // The log contains the blobs too: after a crash here they are restored from it.
        const blobs = entries.flatMap((entry) => entry.blobs)
        if (blobs.length > 0 && !this.#isDiskFull)
          await this.#write(blobs.map(blobOperation), 'writing blobs')
        this.#lastIndex += entries.length
      } finally {
        this.#appending = false
      }
    })
  }

  async *load(): AsyncGenerator<readonly StoredRow[]> {
    const pages = this.#database.rows()
    for await (const page of this.#paged(pages, 'loading rows')) yield unpackRows(page)
  }

  read(fromIndex: number): AsyncGenerator<LogEntry> {
    return this.#entries(fromIndex, this.#lastIndex)
  }

  async *#entries(fromIndex: number, to: number): AsyncGenerator<LogEntry> {
    // Entries trimmed since the call are skipped.
    const pages = this.#log.read(Math.max(fromIndex, this.#firstIndex), to)
    for await (const page of this.#paged(pages, 'reading the log'))
      for (const entry of page) yield entry.blobs.length === 0 ? entry : { ...entry, blobs: [] }
  }

  async checkpoint(rows: Iterable<CheckpointRow>, position: CheckpointPosition): Promise<void> {
    await this.#maintain('writing a checkpoint', async (operation) => {
      assertCheckpoint(position, { lastIndex: this.#lastIndex, upTo: this.#checkpointIndex })
      await this.#writeRows(rows, operation)
      await this.#write([metadataOperation('checkpoint', position)], operation)
      this.#checkpointIndex = position.upTo
      // Appends may be in flight, so the current log length is not recorded.
      await this.#saveHighWaterMark({ number: 0, bytes: 0 }).catch((thrown: unknown) => {
        throw toStorageFault(thrown, this.#paths.root, operation)
      })
      this.#fileReaper.scan()
    })
  }

  async trim(beforeIndex: number): Promise<void> {
    await this.#maintain('trimming the log', async (operation) => {
      const end = clampTrim(beforeIndex, this.#checkpointIndex)
      if (this.#firstIndex >= end) return
      await this.#write([metadataOperation('first', end)], operation)
      this.#firstIndex = end
      await this.#writeOrFail(operation, () => this.#log.trim(end))
    })
  }

  async readBlob(key: string): Promise<Uint8Array | undefined> {
    return await this.#inFlightCalls.run(async () => {
      const blobKey = layout.blobKey(key)
      const value = await this.#database.getBytes(blobKey).catch((thrown: unknown) => {
        throw toStorageFault(thrown, this.#paths.root, 'reading a blob')
      })
      if (value === undefined) return undefined
      return this.#decode('blob', blobKey, () => layout.decodeBlobValue(blobKey, value))
    })
  }

  async *blobs(): AsyncGenerator<StoredBlob> {
    const pages = this.#database.keyPages(layout.BLOB_RANGE)
    for await (const keys of this.#paged(pages, 'listing blobs'))
      for (const blobKey of keys) {
        const key = layout.parseBlobKey(blobKey)
        const bytes = await this.readBlob(key)
        if (bytes !== undefined) yield { key, bytes }
      }
  }

  async putBlobs(blobs: readonly StoredBlob[]): Promise<void> {
    await this.#maintain('writing blobs', async (operation) => {
      await this.#write(blobs.map(blobOperation), operation)
    })
  }

  async startLogAt(firstIndex: number): Promise<void> {
    await this.#maintain('beginning a log', async (operation) => {
      assert(this.#lastIndex === 0, 'only an empty engine begins anywhere')
      const position: CheckpointPosition = { upTo: firstIndex - 1, tableIndexes: {} }
      await this.#writeOrFail(operation, () => this.#log.startAt(firstIndex))
      await this.#write(
        [metadataOperation('checkpoint', position), metadataOperation('first', firstIndex)],
        operation,
      )
      this.#checkpointIndex = firstIndex - 1
      this.#lastIndex = firstIndex - 1
      this.#firstIndex = firstIndex
    })
  }

  async recover(): Promise<Recovery> {
    return await this.#inFlightCalls.run(async () => {
      try {
        if (this.#writeFault !== undefined) await this.#log.rollBackAppend(this.#lastIndex + 1)
        if ((await freeBytes(this.#paths)) >= RESUME_FREE_BYTES_MIN) {
          await this.#resume()
          return 'all'
        }
        await this.#reserve.release()
        if ((await freeBytes(this.#paths)) < DELETE_FREE_BYTES_MIN) return 'none'
        this.#isDiskFull = true
        this.#writeFault = undefined
        return 'deletes'
      } catch (thrown) {
        // Still full or still read-only: the next call tries again.
        this.#writeFault ??= toStorageFault(thrown, this.#paths.root, 'recovering')
        return 'none'
      }
    })
  }

  /** Resumes normal operation: stores the blobs that were meanwhile written to the log only. */
  async #resume(): Promise<void> {
    assert(!this.#isMaintaining, 'nothing is checkpointed while the storage recovers')
    await this.#database.reopen()
    for await (const page of this.#log.read(this.#checkpointIndex + 1, this.#lastIndex)) {
      const blobs = page.flatMap((entry) => entry.blobs)
      if (blobs.length > 0) await this.#database.write(blobs.map(blobOperation))
    }
    this.#isDiskFull = false
    this.#writeFault = undefined
    this.#reserve.fill()
  }

  async close(): Promise<void> {
    this.#closing ??= this.#close()
    await this.#closing
  }

  async #close(): Promise<void> {
    await this.#inFlightCalls.close()
    try {
      // Only a lower bound: if it cannot be written, the previous one remains valid.
      await newestWal(this.#paths.database)
        .then((wal) => this.#saveHighWaterMark(wal))
        .catch(() => undefined)
      await this.#log.close()
      await this.#fileReaper.close()
      await this.#reserve.stop()
      await this.#database.close()
    } finally {
      this.#onClosed()
    }
  }

  /**
   * Records the current indexes beside the database, so that the next opening detects a truncated
   * log.
   */
  async #saveHighWaterMark(wal: WalPosition): Promise<void> {
    await writeHighWaterMark(this.#paths, {
      lastIndex: this.#lastIndex,
      upTo: this.#checkpointIndex,
      wal,
    })
  }

  /** Runs checkpoints and trims one at a time; appends do not wait for them. */
  async #maintain(operation: string, work: (operation: string) => Promise<void>): Promise<void> {
    await this.#inFlightCalls.run(async () => {
      assert(!this.#isMaintaining, 'checkpoints and trims do not overlap')
      this.#isMaintaining = true
      try {
        await work(operation)
      } finally {
        this.#isMaintaining = false
      }
    })
  }

  /**
   * Writes rows in batches. Rows are encoded one by one, because the operations of a whole batch
   * would outlive the wait. Other work waits for one batch at most.
   */
  async #writeRows(rows: Iterable<CheckpointRow>, operation: string): Promise<void> {
    const iterator = rows[Symbol.iterator]()
    let next = iterator.next()
    function* nextBatch(bytes: number): Generator<WriteOperation> {
      for (let size = 0; size < bytes && next.done !== true;) {
        const { key, text } = next.value
        size += key.length + chunksLength(text ?? '')
        yield rowOperation(next.value)
        next = iterator.next()
      }
    }
    while (next.done !== true) {
      const startMs = performance.now()
      const write = await this.#database.prepareBatch(nextBatch(this.#batchBytes))
      const encodedMs = performance.now()
      await this.#writeOrFail(operation, write)
      const times = { encodeMs: encodedMs - startMs, waitMs: performance.now() - encodedMs }
      this.#batchBytes = nextBatchBytes(
        this.#batchBytes,
        times,
        this.#log.bytesAfter(this.#checkpointIndex),
      )
    }
  }

  async #write(operations: Iterable<WriteOperation>, operation: string): Promise<void> {
    const write = await this.#database.prepareBatch(operations)
    await this.#writeOrFail(operation, write)
  }

  /**
   * After a failed write a file may end in a partial record, and later records would be lost at the
   * next start. So no write follows the first failure.
   */
  async #writeOrFail(operation: string, write: () => Promise<void>): Promise<void> {
    if (this.#writeFault !== undefined) {
      const message = `${this.#writeFault.message} (An earlier write failed: open the storage again.)`
      throw new Fault(this.#writeFault.kind, message, { cause: this.#writeFault })
    }
    try {
      await write()
    } catch (thrown) {
      this.#writeFault = toStorageFault(thrown, this.#paths.root, operation)
      throw this.#writeFault
    }
  }

  /** Yields pages while the engine is open; closing ends slow readers. */
  async *#paged<T>(pages: AsyncGenerator<T>, operation: string): AsyncGenerator<T> {
    try {
      for (;;) {
        const page = await this.#inFlightCalls.run(() => pages.next())
        if (page.done === true) return
        yield page.value
      }
    } catch (thrown) {
      if (thrown instanceof CorruptLogError) throw this.#corruptFault(thrown.message)
      if (thrown instanceof layout.RowChecksumError)
        throw this.#unreadableValue('row', thrown.key, thrown)
      throw toStorageFault(thrown, this.#paths.root, operation)
    } finally {
      await pages.return(undefined)
    }
  }

  #decode<T>(what: string, key: string, decode: () => T): T {
    try {
      return decode()
    } catch (thrown) {
      if (!(thrown instanceof layout.ChecksumError)) throw thrown
      throw this.#unreadableValue(what, key, thrown)
    }
  }

  #unreadableValue(what: string, key: string, thrown: layout.ChecksumError): Fault {
    return this.#corruptFault(
      `the ${what} under key ${JSON.stringify(key)}: ${errorMessage(thrown)}`,
    )
  }

  #corruptFault(what: string): Fault {
    const { root } = this.#paths
    return storageFault('storage-corrupt', `The data directory ${root} is damaged: ${what}.`)
  }
}

export function blobOperation({ key: name, bytes }: BlobChange): WriteOperation {
  const key = layout.blobKey(name)
  if (bytes === undefined) return { type: 'del', key }
  return { type: 'blob', key, bytes }
}

function rowOperation(row: CheckpointRow): WriteOperation {
  const key = layout.rowKey(row.table, row.key)
  return row.text === undefined ? { type: 'del', key } : { type: 'row', key, text: row.text }
}

export function metadataOperation(
  name: keyof typeof layout.METADATA_KEYS,
  value: unknown,
): WriteOperation {
  const key = layout.METADATA_KEYS[name]
  return { type: 'text', key, value: layout.addChecksum(key, JSON.stringify(value)) }
}

/** Minimum batch size of a checkpoint: smaller batches would mostly consist of fsyncs. */
export const BATCH_BYTES_MIN = 256 * 1024
/** Maximum batch size: encoding this much blocks the main thread for some ten milliseconds. */
export const BATCH_BYTES_MAX = 4 * 1024 * 1024
/** Maximum growth or shrinkage between two batches: one slow fsync says little about the next. */
const GROWTH_FACTOR_MAX = 2

/** Minimum share of the main thread for a running checkpoint. */
const CPU_SHARE = 1 / 12
/** Same, if a restart after a crash would have to replay a long log. */
const CPU_SHARE_LONG_LOG = 1 / 5
/**
 * Log size after the checkpoint from which it counts as long: replaying it takes about two seconds.
 */
export const LONG_LOG_BYTES = 256 * 1024 * 1024

/** Duration of one batch. */
interface BatchTimes {
  /** Time on the main thread for encoding the rows. */
  readonly encodeMs: number
  /** Time until the batch was durable and the main thread was free again. */
  readonly waitMs: number
}

/**
 * Size of the next checkpoint batch. On a busy server the checkpoint runs once per event-loop tick:
 * with a fixed batch size, longer ticks mean slower progress, and the checkpoint of a filling
 * cluster would never finish. So the batch grows with the waiting time of the previous one, and the
 * checkpoint keeps its share of the thread.
 */
export function nextBatchBytes(
  bytes: number,
  { encodeMs, waitMs }: BatchTimes,
  logBytes: number,
): number {
  const share = logBytes > LONG_LOG_BYTES ? CPU_SHARE_LONG_LOG : CPU_SHARE
  const targetMs = (waitMs * share) / (1 - share)
  const factor = encodeMs > 0 ? targetMs / encodeMs : GROWTH_FACTOR_MAX
  const next = bytes * Math.min(GROWTH_FACTOR_MAX, Math.max(1 / GROWTH_FACTOR_MAX, factor))
  return Math.round(Math.min(BATCH_BYTES_MAX, Math.max(BATCH_BYTES_MIN, next)))
}
