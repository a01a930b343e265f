import { assert, Fault } from '@reeve/kit/fault.ts'
import { joinChunks } from '@reeve/kit/string-chunks.ts'
import {
  toStoredRow,
  type CheckpointMark,
  type CheckpointRow,
  type EnginePosition,
  type LogEntry,
  type NewLogEntry,
  type StorageEngine,
  type StoredRow,
} from '../../state/index.ts'
import { assertAppendable, assertMarkable, trimEnd } from '../log-rules.ts'
import { RunningCalls } from '../running-calls.ts'
import { MemoryDisk } from './memory-disk.ts'
import { MemoryFaults, type AppendFault } from './memory-faults.ts'

const ITEMS_PER_PAGE = 1_000

interface MemoryOptions {
  /** What an earlier engine left. Opening it again fences that engine off. */
  readonly disk?: MemoryDisk
}

/** Storage for tests and simulation. Deterministic: it uses no clock and no timers. */
export function openMemoryEngine(options: MemoryOptions = {}): MemoryEngine {
  return new MemoryEngine(options.disk ?? new MemoryDisk())
}

export class MemoryEngine implements StorageEngine {
  readonly opened: EnginePosition
  readonly disk: MemoryDisk
  readonly faults = new MemoryFaults()
  readonly #calls = new RunningCalls()
  readonly #opening: number
  #lastIndex: number
  #appending = false
  #failed: Fault | undefined

  constructor(disk: MemoryDisk) {
    this.disk = disk
    this.#opening = ++disk.openings
    const { lastIndex, firstIndex, checkpoint } = disk
    this.opened = { lastIndex, firstIndex, checkpoint }
    this.#lastIndex = lastIndex
  }

  async append(entries: readonly NewLogEntry[]): Promise<void> {
    await this.#calls.run(async () => {
      assert(!this.#appending, 'an append waits for the one before')
      if (this.#failed !== undefined) throw this.#failed
      assertAppendable(entries, this.#lastIndex)
      this.#appending = true
      try {
        await this.#append(entries)
      } catch (thrown) {
        // As on a real disk, a failed write is the last: its outcome is known at the next opening.
        if (thrown instanceof Fault) this.#failed = thrown
        throw thrown
      } finally {
        this.#appending = false
      }
    })
  }

  async #append(entries: readonly NewLogEntry[]): Promise<void> {
    const fault = this.faults.take()
    if (fault?.kind === 'slow') {
      fault.started()
      await fault.released
    }
    // Like a disk, not at once: who reveals an entry before its append resolves shall be found out.
    await Promise.resolve()
    this.#assertOurs()
    if (fault?.kind === 'torn' && fault.survives === 'all') this.disk.write(entries)
    const failure = fault === undefined ? undefined : failureOf(fault)
    if (failure !== undefined) throw failure
    this.disk.write(entries)
    this.#lastIndex += entries.length
  }

  async *load(): AsyncGenerator<readonly StoredRow[]> {
    yield* this.#paged(() => [...this.disk.rows.values()].map(toStoredRow))
  }

  read(fromIndex: number): AsyncGenerator<LogEntry> {
    return this.#entries(fromIndex, this.#lastIndex)
  }

  async *#entries(fromIndex: number, to: number): AsyncGenerator<LogEntry> {
    for await (const page of this.#paged(() => this.disk.entries(fromIndex, to))) yield* page
  }

  /** What was there at the first page, in pages: writes in the meantime do not show. */
  async *#paged<T>(list: () => readonly T[]): AsyncGenerator<readonly T[]> {
    const all = await this.#calls.run(async () => list())
    for (let at = 0; at < all.length; at += ITEMS_PER_PAGE) {
      yield await this.#calls.run(async () => all.slice(at, at + ITEMS_PER_PAGE))
    }
  }

  async checkpoint(rows: Iterable<CheckpointRow>, mark: CheckpointMark): Promise<void> {
    await this.#calls.run(async () => {
      this.#assertOurs()
      const { upTo } = this.disk.checkpoint
      assertMarkable(mark, { lastIndex: this.#lastIndex, upTo })
      for (const { table, key, text } of rows) {
        const id = JSON.stringify([table, key])
        if (text === undefined) this.disk.rows.delete(id)
        else this.disk.rows.set(id, { table, key, text: joinChunks(text) })
      }
      this.disk.checkpoint = structuredClone(mark)
    })
  }

  async trim(beforeIndex: number): Promise<void> {
    await this.#calls.run(async () => {
      this.#assertOurs()
      this.disk.forget(trimEnd(beforeIndex, this.disk.checkpoint.upTo))
    })
  }

  /** As every engine whose content can be moved does (MovableEngine). */
  async beginAt(firstIndex: number): Promise<void> {
    await this.#calls.run(async () => {
      this.#assertOurs()
      assert(this.#lastIndex === 0, 'only an empty engine begins anywhere')
      this.disk.beginAt(firstIndex)
      this.#lastIndex = firstIndex - 1
    })
  }

  async readBlob(key: string): Promise<Uint8Array | undefined> {
    return await this.#calls.run(async () => this.disk.blobs.get(key)?.slice())
  }

  async close(): Promise<void> {
    await this.#calls.close()
  }

  #assertOurs(): void {
    if (this.disk.openings !== this.#opening) throw fencedFault()
  }
}

function failureOf(fault: AppendFault): Fault | undefined {
  switch (fault.kind) {
    case 'slow':
      return undefined
    case 'torn':
      return new Fault('storage-failed', 'The disk failed during a write.')
    case 'full':
      return new Fault('storage-full', 'The disk is full.')
    case 'fenced':
      return fencedFault()
  }
}

function fencedFault(): Fault {
  return new Fault('storage-fenced', 'Another server has taken over this storage.')
}
