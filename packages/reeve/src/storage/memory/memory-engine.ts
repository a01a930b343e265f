import { assert, Fault } from '@reeve/kit/fault.ts'
import { joinChunks } from '@reeve/kit/string-chunks.ts'
import type {
  LeaseClaim,
  LeaseStatus,
  LeaseHeld,
  LeaseStore,
  Retirement,
  ServerRecord,
  RegisteredServer,
  RegistryTimeouts,
  ServerRegistry,
} from '../../cluster/index.ts'
import {
  splitStoredRow,
  type CheckpointPosition,
  type CheckpointRow,
  type EnginePosition,
  type LogEntry,
  type AppendEntry,
  type StorageEngine,
  type StoredRow,
} from '../../state/index.ts'
import { assertContiguous, assertCheckpoint, clampTrim, InFlightCalls } from '../engine-rules.ts'

const ITEMS_PER_PAGE = 1_000

interface MemoryOptions {
  /** Disk of an earlier engine, which is fenced by the reopening. */
  readonly disk?: MemoryDisk
}

/** Storage for tests and simulation. Deterministic: it uses no clock and no timers. */
export function openMemoryEngine(options: MemoryOptions = {}): MemoryEngine {
  return new MemoryEngine(options.disk ?? new MemoryDisk())
}

export class MemoryEngine implements StorageEngine {
  readonly initialPosition: EnginePosition
  readonly disk: MemoryDisk
  readonly faultInjector = new FaultInjector()
  readonly #inFlightCalls = new InFlightCalls()
  readonly #openNumber: number
  #lastIndex: number
  #appending = false
  #writeFault: Fault | undefined

  constructor(disk: MemoryDisk) {
    this.disk = disk
    this.#openNumber = ++disk.openCount
    const { lastIndex, firstIndex, checkpoint } = disk
    this.initialPosition = { lastIndex, firstIndex, checkpoint }
    this.#lastIndex = lastIndex
  }

  async append(entries: readonly AppendEntry[]): Promise<void> {
    await this.#inFlightCalls.run(async () => {
      assert(!this.#appending, 'an append waits for the one before')
      if (this.#writeFault !== undefined) throw this.#writeFault
      assertContiguous(entries, this.#lastIndex)
      this.#appending = true
      try {
        await this.#append(entries)
      } catch (thrown) {
        // As on a real disk, a failed write is the last: its outcome is known at the next opening.
        if (thrown instanceof Fault) this.#writeFault = thrown
        throw thrown
      } finally {
        this.#appending = false
      }
    })
  }

  async #append(entries: readonly AppendEntry[]): Promise<void> {
    const fault = this.faultInjector.takeNext()
    if (fault?.kind === 'slow') {
      fault.started()
      await fault.released
    }
    // Asynchronous like a disk, so that tests detect code that reveals an entry before its append
    // resolves.
    await Promise.resolve()
    this.#assertNotFenced()
    if (fault?.kind === 'torn' && fault.survives === 'all') this.disk.append(entries)
    const failure = fault === undefined ? undefined : failureOf(fault)
    if (failure !== undefined) throw failure
    this.disk.append(entries)
    this.#lastIndex += entries.length
  }

  async *load(): AsyncGenerator<readonly StoredRow[]> {
    yield* this.#paged(() => [...this.disk.rows.values()].map(splitStoredRow))
  }

  read(fromIndex: number): AsyncGenerator<LogEntry> {
    return this.#entries(fromIndex, this.#lastIndex)
  }

  async *#entries(fromIndex: number, to: number): AsyncGenerator<LogEntry> {
    for await (const page of this.#paged(() => this.disk.entries(fromIndex, to))) yield* page
  }

  /** Pages of the content at the first page; later writes are not visible. */
  async *#paged<T>(list: () => readonly T[]): AsyncGenerator<readonly T[]> {
    const all = await this.#inFlightCalls.run(async () => list())
    for (let at = 0; at < all.length; at += ITEMS_PER_PAGE) {
      yield await this.#inFlightCalls.run(async () => all.slice(at, at + ITEMS_PER_PAGE))
    }
  }

  async checkpoint(rows: Iterable<CheckpointRow>, mark: CheckpointPosition): Promise<void> {
    await this.#inFlightCalls.run(async () => {
      this.#assertNotFenced()
      const { upTo } = this.disk.checkpoint
      assertCheckpoint(mark, { lastIndex: this.#lastIndex, upTo })
      for (const { table, key, text } of rows) {
        const id = JSON.stringify([table, key])
        if (text === undefined) this.disk.rows.delete(id)
        else this.disk.rows.set(id, { table, key, text: joinChunks(text) })
      }
      this.disk.checkpoint = structuredClone(mark)
    })
  }

  async trim(beforeIndex: number): Promise<void> {
    await this.#inFlightCalls.run(async () => {
      this.#assertNotFenced()
      this.disk.trim(clampTrim(beforeIndex, this.disk.checkpoint.upTo))
    })
  }

  /** Same contract as MigratableEngine. */
  async startLogAt(firstIndex: number): Promise<void> {
    await this.#inFlightCalls.run(async () => {
      this.#assertNotFenced()
      assert(this.#lastIndex === 0, 'only an empty engine begins anywhere')
      this.disk.startLogAt(firstIndex)
      this.#lastIndex = firstIndex - 1
    })
  }

  async readBlob(key: string): Promise<Uint8Array | undefined> {
    return await this.#inFlightCalls.run(async () => this.disk.blobs.get(key)?.slice())
  }

  async close(): Promise<void> {
    await this.#inFlightCalls.close()
  }

  #assertNotFenced(): void {
    if (this.disk.openCount !== this.#openNumber) throw fencedFault()
  }
}

function failureOf(fault: InjectedFault): Fault | undefined {
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

/** A stored row. */
interface StoredMemoryRow extends CheckpointRow {
  readonly text: string
}

/** State that survives a memory engine: passing it to the next engine simulates a restart. */
export class MemoryDisk {
  readonly log = new Map<number, LogEntry>()
  readonly rows = new Map<string, StoredMemoryRow>()
  readonly blobs = new Map<string, Uint8Array>()
  firstIndex = 1
  lastIndex = 0
  checkpoint: CheckpointPosition = { upTo: 0, tableIndexes: {} }
  /** Number of openings. Engines of earlier openings are fenced. */
  openCount = 0

  append(entries: readonly AppendEntry[]): void {
    for (const entry of entries) {
      this.log.set(entry.index, { ...entry, text: joinChunks(entry.text), blobs: [] })
      this.lastIndex = entry.index
      for (const { key, bytes } of entry.blobs) {
        // A copy: the caller may use its buffer again.
        if (bytes === undefined) this.blobs.delete(key)
        else this.blobs.set(key, bytes.slice())
      }
    }
  }

  /** Kept entries of an index range, both ends included. */
  entries(from: number, to: number): LogEntry[] {
    const found: LogEntry[] = []
    for (let index = Math.max(from, this.firstIndex); index <= to; index++) {
      const entry = this.log.get(index)
      if (entry !== undefined) found.push(entry)
    }
    return found
  }

  startLogAt(firstIndex: number): void {
    this.firstIndex = firstIndex
    this.lastIndex = firstIndex - 1
    this.checkpoint = { upTo: firstIndex - 1, tableIndexes: {} }
  }

  trim(beforeIndex: number): void {
    for (; this.firstIndex < beforeIndex; this.firstIndex++) this.log.delete(this.firstIndex)
  }
}

/** Injects a fault into the next append. Each fault occurs once. */
class FaultInjector {
  #next: InjectedFault | undefined

  /** The next append is held, and its entries are not durable, until `release` is called. */
  blockNext(): BlockedAppend {
    const started = Promise.withResolvers<void>()
    const released = Promise.withResolvers<void>()
    this.#next = { kind: 'slow', started: started.resolve, released: released.promise }
    return { started: started.promise, release: released.resolve }
  }

  /** The next append rejects with `storage-failed`. A reopening finds all of it or none. */
  failNext(survives: 'all' | 'none'): void {
    this.#next = { kind: 'torn', survives }
  }

  /** The next append rejects with `storage-full` and leaves nothing. */
  fillDisk(): void {
    this.#next = { kind: 'full' }
  }

  /** The next append rejects with `storage-fenced`, as if another leader had written. */
  fenceNext(): void {
    this.#next = { kind: 'fenced' }
  }

  takeNext(): InjectedFault | undefined {
    const next = this.#next
    this.#next = undefined
    return next
  }
}

interface BlockedAppend {
  /** Resolves when the append has been called. */
  readonly started: Promise<void>
  readonly release: () => void
}

type InjectedFault =
  | { readonly kind: 'slow'; readonly started: () => void; readonly released: Promise<void> }
  | { readonly kind: 'torn'; readonly survives: 'all' | 'none' }
  | { readonly kind: 'full' }
  | { readonly kind: 'fenced' }

/** A lease for tests and simulation; uses the clock of its owner. */
export class MemoryLease implements LeaseStore {
  readonly #nowMs: () => number
  #term = 0
  #holder = ''
  #address = ''
  #expiresMs = 0

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  async acquire({ holder, address, ttlMs }: LeaseClaim): Promise<LeaseHeld | undefined> {
    if (this.#expiresMs > this.#nowMs() && this.#holder !== holder) return undefined
    this.#term++
    this.#holder = holder
    this.#address = address
    this.#expiresMs = this.#nowMs() + ttlMs
    return { term: this.#term }
  }

  async renew({ term }: LeaseHeld, { holder, ttlMs }: LeaseClaim): Promise<boolean> {
    if (this.#term !== term || this.#holder !== holder) return false
    if (this.#expiresMs <= this.#nowMs()) return false
    this.#expiresMs = this.#nowMs() + ttlMs
    return true
  }

  async release({ term }: LeaseHeld): Promise<void> {
    if (this.#term !== term) return
    this.#expiresMs = this.#nowMs()
    this.#address = ''
  }

  async read(): Promise<LeaseStatus> {
    const leftMs = Math.max(0, this.#expiresMs - this.#nowMs())
    return { term: this.#term, holder: this.#holder, address: this.#address, remainingMs: leftMs }
  }
}

/** A server registry for tests and simulation; uses the clock of its owner. */
export class MemoryServerRegistry implements ServerRegistry {
  readonly #nowMs: () => number
  readonly #servers = new Map<string, ServerRecord & { readonly atMs: number }>()

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  async heartbeat(entry: ServerRecord, { failedMs, retentionMs }: RegistryTimeouts): Promise<void> {
    const atMs = this.#nowMs()
    for (const other of this.#servers.values()) {
      const silentMs = atMs - other.atMs
      const isInactive = other.state === 'left' || silentMs > failedMs
      const isReplaced =
        other.address === entry.address || (other.name === entry.name && isInactive)
      if (isReplaced || silentMs > retentionMs) this.#servers.delete(other.id)
    }
    this.#servers.set(entry.id, { ...entry, atMs })
  }

  async retire(name: string, { prune, failedMs }: Retirement): Promise<void> {
    for (const entry of this.#servers.values()) {
      const isInactive = entry.state === 'left' || this.#nowMs() - entry.atMs > failedMs
      if (entry.name !== name || !isInactive) continue
      if (prune) this.#servers.delete(entry.id)
      else this.#servers.set(entry.id, { ...entry, state: 'left' })
    }
  }

  async list(): Promise<readonly RegisteredServer[]> {
    const nowMs = this.#nowMs()
    return [...this.#servers.values()].map(({ atMs, ...entry }) => {
      return { ...entry, sinceHeartbeatMs: nowMs - atMs }
    })
  }
}
