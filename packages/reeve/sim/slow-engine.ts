import { joinChunks } from '@reeve/kit/string-chunks.ts'
import type {
  CheckpointMark,
  CheckpointRow,
  EnginePosition,
  LogEntry,
  NewLogEntry,
  StorageEngine,
  StoredRow,
} from '../src/state/index.ts'
import { openMemoryEngine, type MemoryDisk } from '../src/storage/index.ts'
import type { Draws } from './draws.ts'
import type { ProcessClock } from './virtual-clock.ts'

export interface SlowEngineOptions {
  readonly disk: MemoryDisk
  readonly clock: ProcessClock
  readonly draws: Draws
  /** Current conditions of the disk. */
  readonly trouble: DiskTrouble
  /** Called with the text of every durable entry, in order. */
  readonly written: (text: string) => void
  /** An append has failed: the process must exit and write nothing more. */
  readonly appendFailed: () => void
  /** The process wrote nevertheless. */
  readonly wroteAfterFailure: () => void
}

/** Injected disk faults. They outlive the process. */
export interface DiskTrouble {
  /** Maximum delay of a write. */
  slowMsMax: number
  /** The failure of the next append. */
  next: AppendTrouble | undefined
}

/** `fsync`: written but not synced, so that any prefix of it may be on the disk. */
export type AppendTrouble = 'full' | 'torn-all' | 'torn-none' | 'fsync'

/**
 * The memory engine on a slow, faulty disk: a crash may find incomplete writes, unconfirmed writes,
 * or half of a checkpoint.
 */
export class SlowEngine implements StorageEngine {
  readonly opened: EnginePosition
  readonly #options: SlowEngineOptions
  readonly #engine
  #appending: readonly NewLogEntry[] | undefined
  #checkpointing: readonly CheckpointRow[] | undefined
  #hasFailed = false

  constructor(options: SlowEngineOptions) {
    this.#options = options
    this.#engine = openMemoryEngine({ disk: options.disk })
    this.opened = this.#engine.opened
  }

  async append(entries: readonly NewLogEntry[]): Promise<void> {
    const { clock, draws, trouble, disk } = this.#options
    if (this.#hasFailed) this.#options.wroteAfterFailure()
    this.#appending = entries
    await clock.pass(this.#delayMs())
    const fault = trouble.next
    trouble.next = undefined
    if (fault === 'full') this.#engine.faults.full()
    else if (fault !== undefined) this.#engine.faults.torn(fault === 'torn-all' ? 'all' : 'none')
    this.#appending = undefined
    const lastIndex = disk.lastIndex
    if (fault === 'fsync') disk.write(entries.slice(0, draws.between(0, entries.length)))
    try {
      await this.#engine.append(entries)
    } catch (thrown) {
      this.#hasFailed = true
      this.#options.appendFailed()
      throw thrown
    } finally {
      for (const entry of entries) if (entry.index > lastIndex) this.#tell(entry)
    }
    // Durable, but not acknowledged yet.
    if (draws.chance(0.3)) await clock.pass(this.#delayMs())
  }

  #tell(entry: NewLogEntry): void {
    if (entry.index <= this.#options.disk.lastIndex) this.#options.written(joinChunks(entry.text))
  }

  #delayMs(): number {
    const { draws, trouble } = this.#options
    return draws.chance(0.5) ? 0 : draws.between(0, trouble.slowMsMax)
  }

  load(): AsyncIterable<readonly StoredRow[]> {
    return this.#engine.load()
  }

  read(fromIndex: number): AsyncIterable<LogEntry> {
    return this.#engine.read(fromIndex)
  }

  async checkpoint(rows: Iterable<CheckpointRow>, mark: CheckpointMark): Promise<void> {
    const all = [...rows]
    this.#checkpointing = all
    await this.#options.clock.pass(this.#delayMs())
    this.#checkpointing = undefined
    await this.#engine.checkpoint(all, mark)
  }

  async trim(beforeIndex: number): Promise<void> {
    await this.#options.clock.pass(this.#delayMs())
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
    const { disk, draws } = this.#options
    const entries = this.#appending
    if (entries !== undefined && draws.chance(0.5)) {
      disk.write(entries)
      for (const { text } of entries) this.#options.written(joinChunks(text))
    }
    const rows = this.#checkpointing
    if (rows !== undefined)
      await this.#engine.checkpoint(
        rows.filter(() => draws.chance(0.5)),
        disk.checkpoint,
      )
    disk.openings += 1
  }
}
