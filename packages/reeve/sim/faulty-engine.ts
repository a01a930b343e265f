import { joinChunks } from '@reeve/kit/string-chunks.ts'
import type {
  CheckpointPosition,
  CheckpointRow,
  EnginePosition,
  LogEntry,
  AppendEntry,
  StorageEngine,
  StoredRow,
} from '../src/state/index.ts'
import { openMemoryEngine, type MemoryDisk } from '../src/storage/index.ts'
import type { RandomStream } from './random-stream.ts'
import type { ProcessClock } from './virtual-clock.ts'

export interface FaultyEngineOptions {
  readonly disk: MemoryDisk
  readonly clock: ProcessClock
  readonly random: RandomStream
  /** Current conditions of the disk. */
  readonly conditions: DiskConditions
  /** Called with the text of every durable entry, in order. */
  readonly onWritten: (text: string) => void
  /** An append has failed: the process must exit and write nothing more. */
  readonly onAppendFailed: () => void
  /** The process wrote nevertheless. */
  readonly onWriteAfterFailure: () => void
}

/** Injected disk faults. They outlive the process. */
export interface DiskConditions {
  /** Maximum delay of a write. */
  maxDelayMs: number
  /** The failure of the next append. */
  nextFailure: AppendFailure | undefined
}

/** `fsync`: written but not synced, so that any prefix of it may be on the disk. */
export type AppendFailure = 'full' | 'torn-all' | 'torn-none' | 'fsync'

/**
 * The memory engine on a slow, faulty disk: a crash may find incomplete writes, unconfirmed writes,
 * or half of a checkpoint.
 */
export class FaultyEngine implements StorageEngine {
  readonly initialPosition: EnginePosition
  readonly #options: FaultyEngineOptions
  readonly #engine
  #pendingAppend: readonly AppendEntry[] | undefined
  #pendingCheckpoint: readonly CheckpointRow[] | undefined
  #hasFailed = false

  constructor(options: FaultyEngineOptions) {
    this.#options = options
    this.#engine = openMemoryEngine({ disk: options.disk })
    this.initialPosition = this.#engine.initialPosition
  }

  async append(entries: readonly AppendEntry[]): Promise<void> {
    const { clock, random, conditions, disk } = this.#options
    if (this.#hasFailed) this.#options.onWriteAfterFailure()
    this.#pendingAppend = entries
    await clock.sleep(this.#delayMs())
    const fault = conditions.nextFailure
    conditions.nextFailure = undefined
    if (fault === 'full') this.#engine.faultInjector.fillDisk()
    else if (fault !== undefined)
      this.#engine.faultInjector.failNext(fault === 'torn-all' ? 'all' : 'none')
    this.#pendingAppend = undefined
    const lastIndex = disk.lastIndex
    if (fault === 'fsync') disk.append(entries.slice(0, random.between(0, entries.length)))
    try {
      await this.#engine.append(entries)
    } catch (thrown) {
      this.#hasFailed = true
      this.#options.onAppendFailed()
      throw thrown
    } finally {
      for (const entry of entries) if (entry.index > lastIndex) this.#reportIfDurable(entry)
    }
    // Durable, but not acknowledged yet.
    if (random.chance(0.3)) await clock.sleep(this.#delayMs())
  }

  #reportIfDurable(entry: AppendEntry): void {
    if (entry.index <= this.#options.disk.lastIndex) this.#options.onWritten(joinChunks(entry.text))
  }

  #delayMs(): number {
    const { random, conditions } = this.#options
    return random.chance(0.5) ? 0 : random.between(0, conditions.maxDelayMs)
  }

  load(): AsyncIterable<readonly StoredRow[]> {
    return this.#engine.load()
  }

  read(fromIndex: number): AsyncIterable<LogEntry> {
    return this.#engine.read(fromIndex)
  }

  async checkpoint(rows: Iterable<CheckpointRow>, mark: CheckpointPosition): Promise<void> {
    const all = [...rows]
    this.#pendingCheckpoint = all
    await this.#options.clock.sleep(this.#delayMs())
    this.#pendingCheckpoint = undefined
    await this.#engine.checkpoint(all, mark)
  }

  async trim(beforeIndex: number): Promise<void> {
    await this.#options.clock.sleep(this.#delayMs())
    await this.#engine.trim(beforeIndex)
  }

  readBlob(key: string): Promise<Uint8Array | undefined> {
    return this.#engine.readBlob(key)
  }

  close(): Promise<void> {
    return this.#engine.close()
  }

  /**
   * Power failure. A pending append is on the disk completely or not at all, a pending checkpoint
   * with any of its rows, and later writes of this process never reach the disk.
   */
  async crash(): Promise<void> {
    const { disk, random } = this.#options
    const entries = this.#pendingAppend
    if (entries !== undefined && random.chance(0.5)) {
      disk.append(entries)
      for (const { text } of entries) this.#options.onWritten(joinChunks(text))
    }
    const rows = this.#pendingCheckpoint
    if (rows !== undefined)
      await this.#engine.checkpoint(
        rows.filter(() => random.chance(0.5)),
        disk.checkpoint,
      )
    disk.openCount += 1
  }
}
