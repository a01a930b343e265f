import { assert, Fault, errorMessage } from '@reeve/kit/fault.ts'
import { chunksLength } from '@reeve/kit/string-chunks.ts'
import type {
  BlobChange,
  CheckpointMark,
  CheckpointRow,
  EnginePosition,
  LogEntry,
  MovableEngine,
  NewLogEntry,
  RecoverableEngine,
  Recovery,
  StoredBlob,
  StoredRow,
} from '../../state/index.ts'
import { assertAppendable, assertMarkable, trimEnd } from '../log-rules.ts'
import { RunningCalls } from '../running-calls.ts'
import { nextPieceBytes, PIECE_BYTES_MIN } from './checkpoint-pace.ts'
import { freeBytes, writeReached, type DataPaths } from './data-directory.ts'
import type { Database, Operation } from './database.ts'
import * as layout from './layout.ts'
import { newestWal, type WalLength } from './leveldb/inspect-database.ts'
import { DamagedLog } from './log/log-file.ts'
import type { LogFiles } from './log/log-files.ts'
import type { RemovedFiles } from './removed-files.ts'
import type { Reserve } from './reserve.ts'
import { unpackRows } from './rows/packed-rows.ts'
import { storageFault, toStorageFault } from './storage-faults.ts'

/** Less is not worth going on with: the next writes would fill it. */
const FREE_BYTES_TO_RESUME = 64 * 1024 * 1024
const FREE_BYTES_FOR_DELETES = 1024 * 1024

interface EmbeddedParts {
  readonly paths: DataPaths
  readonly database: Database
  readonly log: LogFiles
  readonly removed: RemovedFiles
  readonly reserve: Reserve
  /** It was opened on a full disk, with the space of the reserve. */
  readonly isShort: boolean
  readonly opened: EnginePosition
  /** Called once everything is released. */
  readonly onClosed: () => void
}

/** One server's storage: a directory on its own disk. */
export class EmbeddedEngine implements MovableEngine, RecoverableEngine {
  readonly opened: EnginePosition
  readonly #paths: DataPaths
  readonly #database: Database
  readonly #log: LogFiles
  readonly #removed: RemovedFiles
  readonly #reserve: Reserve
  readonly #onClosed: () => void
  readonly #calls = new RunningCalls()
  #lastIndex: number
  #firstIndex: number
  #upTo: number
  /** How large the next piece of a checkpoint is. */
  #pieceBytes = PIECE_BYTES_MIN
  #appending = false
  #keeping = false
  #failed: Fault | undefined
  /** The disk is full: only the log is written to, with the space of the reserve. */
  #isShort: boolean
  #closing: Promise<void> | undefined

  constructor(parts: EmbeddedParts) {
    this.opened = parts.opened
    this.#paths = parts.paths
    this.#database = parts.database
    this.#log = parts.log
    this.#removed = parts.removed
    this.#reserve = parts.reserve
    this.#isShort = parts.isShort
    this.#onClosed = parts.onClosed
    this.#lastIndex = parts.opened.lastIndex
    this.#firstIndex = parts.opened.firstIndex
    this.#upTo = parts.opened.checkpoint.upTo
  }

  async append(entries: readonly NewLogEntry[]): Promise<void> {
    await this.#calls.run(async () => {
      assert(!this.#appending, 'an append waits for the one before')
      if (entries.length === 0) return
      assertAppendable(entries, this.#lastIndex)
      this.#appending = true
      try {
        await this.#attempt('appending to the log', () => this.#log.append(entries))
        // The log holds them too: after a crash before this they are put from there.
        const blobs = entries.flatMap((entry) => entry.blobs)
        if (blobs.length > 0 && !this.#isShort)
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
    // What was trimmed since the call is not asked for any more.
    const pages = this.#log.read(Math.max(fromIndex, this.#firstIndex), to)
    for await (const page of this.#paged(pages, 'reading the log'))
      for (const entry of page) yield entry.blobs.length === 0 ? entry : { ...entry, blobs: [] }
  }

  async checkpoint(rows: Iterable<CheckpointRow>, mark: CheckpointMark): Promise<void> {
    await this.#keep('writing a checkpoint', async (doing) => {
      assertMarkable(mark, { lastIndex: this.#lastIndex, upTo: this.#upTo })
      await this.#writeRows(rows, doing)
      await this.#write([metaOperation('checkpoint', mark)], doing)
      this.#upTo = mark.upTo
      // Appends may be under way, so the length of the log is nothing to hold on to now.
      await this.#remember({ number: 0, bytes: 0 }).catch((thrown: unknown) => {
        throw toStorageFault(thrown, this.#paths.root, doing)
      })
      this.#removed.follow()
    })
  }

  async trim(beforeIndex: number): Promise<void> {
    await this.#keep('trimming the log', async (doing) => {
      const end = trimEnd(beforeIndex, this.#upTo)
      if (this.#firstIndex >= end) return
      await this.#write([metaOperation('first', end)], doing)
      this.#firstIndex = end
      await this.#attempt(doing, () => this.#log.trim(end))
    })
  }

  async readBlob(key: string): Promise<Uint8Array | undefined> {
    return await this.#calls.run(async () => {
      const blobKey = layout.blobKey(key)
      const value = await this.#database.getBytes(blobKey).catch((thrown: unknown) => {
        throw toStorageFault(thrown, this.#paths.root, 'reading a blob')
      })
      if (value === undefined) return undefined
      return this.#decoded('blob', blobKey, () => layout.fromBlobValue(blobKey, value))
    })
  }

  async *blobs(): AsyncGenerator<StoredBlob> {
    const pages = this.#database.keyPages(layout.blobRange)
    for await (const keys of this.#paged(pages, 'listing blobs'))
      for (const blobKey of keys) {
        const key = layout.blobNameOf(blobKey)
        const bytes = await this.readBlob(key)
        if (bytes !== undefined) yield { key, bytes }
      }
  }

  async putBlobs(blobs: readonly StoredBlob[]): Promise<void> {
    await this.#keep('writing blobs', async (doing) => {
      await this.#write(blobs.map(blobOperation), doing)
    })
  }

  async beginAt(firstIndex: number): Promise<void> {
    await this.#keep('beginning a log', async (doing) => {
      assert(this.#lastIndex === 0, 'only an empty engine begins anywhere')
      const mark: CheckpointMark = { upTo: firstIndex - 1, tableIndexes: {} }
      await this.#attempt(doing, () => this.#log.beginAt(firstIndex))
      await this.#write(
        [metaOperation('checkpoint', mark), metaOperation('first', firstIndex)],
        doing,
      )
      this.#upTo = firstIndex - 1
      this.#lastIndex = firstIndex - 1
      this.#firstIndex = firstIndex
    })
  }

  async recover(): Promise<Recovery> {
    return await this.#calls.run(async () => {
      try {
        if (this.#failed !== undefined) await this.#log.takeBack(this.#lastIndex + 1)
        if ((await freeBytes(this.#paths)) >= FREE_BYTES_TO_RESUME) {
          await this.#resume()
          return 'all'
        }
        await this.#reserve.release()
        if ((await freeBytes(this.#paths)) < FREE_BYTES_FOR_DELETES) return 'none'
        this.#isShort = true
        this.#failed = undefined
        return 'deletes'
      } catch (thrown) {
        // Still full, or still read-only: the next call tries again.
        this.#failed ??= toStorageFault(thrown, this.#paths.root, 'recovering')
        return 'none'
      }
    })
  }

  /** What was written to the log alone meanwhile is put into the database too. */
  async #resume(): Promise<void> {
    assert(!this.#keeping, 'nothing is checkpointed while the storage recovers')
    await this.#database.reopen()
    for await (const page of this.#log.read(this.#upTo + 1, this.#lastIndex)) {
      const blobs = page.flatMap((entry) => entry.blobs)
      if (blobs.length > 0) await this.#database.write(blobs.map(blobOperation))
    }
    this.#isShort = false
    this.#failed = undefined
    this.#reserve.fill()
  }

  async close(): Promise<void> {
    this.#closing ??= this.#close()
    await this.#closing
  }

  async #close(): Promise<void> {
    await this.#calls.close()
    try {
      // Only a lower bound: when it cannot be written, the one from before still holds.
      await newestWal(this.#paths.level)
        .then((wal) => this.#remember(wal))
        .catch(() => undefined)
      await this.#log.close()
      await this.#removed.close()
      await this.#reserve.stop()
      await this.#database.close()
    } finally {
      this.#onClosed()
    }
  }

  /** Notes beside the database how far it came: if it loses its end, the next opening notices. */
  async #remember(wal: WalLength): Promise<void> {
    await writeReached(this.#paths, { lastIndex: this.#lastIndex, upTo: this.#upTo, wal })
  }

  /** Checkpoints and trims take turns; appends do not wait for them. */
  async #keep(doing: string, work: (doing: string) => Promise<void>): Promise<void> {
    await this.#calls.run(async () => {
      assert(!this.#keeping, 'checkpoints and trims do not overlap')
      this.#keeping = true
      try {
        await work(doing)
      } finally {
        this.#keeping = false
      }
    })
  }

  /**
   * One row at a time becomes an operation: those of a whole piece would outlive the waiting.
   * Others wait for one piece at most.
   */
  async #writeRows(rows: Iterable<CheckpointRow>, doing: string): Promise<void> {
    const iterator = rows[Symbol.iterator]()
    let next = iterator.next()
    function* piece(bytes: number): Generator<Operation> {
      for (let size = 0; size < bytes && next.done !== true;) {
        const { key, text } = next.value
        size += key.length + chunksLength(text ?? '')
        yield rowOperation(next.value)
        next = iterator.next()
      }
    }
    while (next.done !== true) {
      const beginMs = performance.now()
      const write = await this.#database.gather(piece(this.#pieceBytes))
      const gatheredMs = performance.now()
      await this.#attempt(doing, write)
      const times = { gatherMs: gatheredMs - beginMs, waitMs: performance.now() - gatheredMs }
      this.#pieceBytes = nextPieceBytes(this.#pieceBytes, times, this.#log.bytesAfter(this.#upTo))
    }
  }

  async #write(operations: Iterable<Operation>, doing: string): Promise<void> {
    const write = await this.#database.gather(operations)
    await this.#attempt(doing, write)
  }

  /**
   * After a failed write a file may end in half a record, and what is written behind it would be
   * lost at the next start. So the first failure is the last write.
   */
  async #attempt(doing: string, write: () => Promise<void>): Promise<void> {
    if (this.#failed !== undefined) {
      const again = `${this.#failed.message} (An earlier write failed: open the storage again.)`
      throw new Fault(this.#failed.kind, again, { cause: this.#failed })
    }
    try {
      await write()
    } catch (thrown) {
      this.#failed = toStorageFault(thrown, this.#paths.root, doing)
      throw this.#failed
    }
  }

  /** Hands on pages while the engine is open; a reader that is behind is stopped by closing. */
  async *#paged<T>(pages: AsyncGenerator<T>, doing: string): AsyncGenerator<T> {
    try {
      for (;;) {
        const page = await this.#calls.run(() => pages.next())
        if (page.done === true) return
        yield page.value
      }
    } catch (thrown) {
      if (thrown instanceof DamagedLog) throw this.#damaged(thrown.message)
      if (thrown instanceof layout.UnreadableRow) throw this.#unreadable('row', thrown.key, thrown)
      throw toStorageFault(thrown, this.#paths.root, doing)
    } finally {
      await pages.return(undefined)
    }
  }

  #decoded<T>(what: string, key: string, decode: () => T): T {
    try {
      return decode()
    } catch (thrown) {
      if (!(thrown instanceof layout.UnreadableValue)) throw thrown
      throw this.#unreadable(what, key, thrown)
    }
  }

  #unreadable(what: string, key: string, thrown: layout.UnreadableValue): Fault {
    return this.#damaged(`the ${what} under key ${JSON.stringify(key)}: ${errorMessage(thrown)}`)
  }

  #damaged(what: string): Fault {
    const { root } = this.#paths
    return storageFault('storage-corrupt', `The data directory ${root} is damaged: ${what}.`)
  }
}

export function blobOperation({ key: name, bytes }: BlobChange): Operation {
  const key = layout.blobKey(name)
  if (bytes === undefined) return { type: 'del', key }
  return { type: 'blob', key, bytes }
}

function rowOperation(row: CheckpointRow): Operation {
  const key = layout.rowKey(row.table, row.key)
  return row.text === undefined ? { type: 'del', key } : { type: 'row', key, text: row.text }
}

export function metaOperation(name: keyof typeof layout.metaKeys, value: unknown): Operation {
  const key = layout.metaKeys[name]
  return { type: 'text', key, value: layout.seal(key, JSON.stringify(value)) }
}
