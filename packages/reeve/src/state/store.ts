import type { Clock } from '@reeve/kit/clock.ts'
import { assert, Fault } from '@reeve/kit/fault.ts'
import { auditRecord, type CommitAuthor, type CommitObserver } from './audit-entry.ts'
import { decodeCommit } from './codec.ts'
import { newBatch, type Batch } from './batch.ts'
import { isDelete, put, type Change, type CommitSubject, type Stamp } from './change.ts'
import { CheckpointParts } from './checkpoint-parts.ts'
import { CommitEntry } from './commit-entry.ts'
import { CommittedRows } from './committed-rows.ts'
import type { Commit, CommittedRow } from './commit.ts'
import { isRecoverable, type BlobChange, type LogEntry, type StorageEngine } from './engine.ts'
import { eventMarks, type AppliedRow, type Cause } from './events.ts'
import { CommitLog } from './commit-log.ts'
import { NamespaceIndexes, type NamespaceScope } from './namespace-indexes.ts'
import { RowWriter } from './row-writer.ts'
import {
  createTables,
  type NamespacedTable,
  type TableName,
  type TableObserver,
  type Tables,
} from './tables.ts'
import { IN_ONE } from './row-text.ts'
import { decodedText, type Table, type Undo } from './table.ts'
import { Watches } from './watches.ts'

export { put, remove, type Change, type Stamp } from './change.ts'

/** Commits that may wait for the engine. Beyond it the disk cannot keep up; callers are told so. */
const PENDING_COMMITS_MAX = 50_000

/** A commit that is applied. Nobody may be told of it before `durable` resolves. */
export interface Commitment extends Stamp {
  readonly durable: Promise<void>
}

export interface CommitRequest {
  /** On whose behalf: a request, whose audit record is added to the commit, or the system. */
  readonly by: CommitAuthor
  /** What happened, as the event stream names it; undefined when it emits nothing. */
  readonly cause: Cause | undefined
  readonly changes: (stamp: Stamp) => readonly Change[]
  readonly blobs?: readonly BlobChange[]
  /** It lets somebody free space, as deletes do: accepted from the reserve of a full disk. */
  readonly freesSpace?: boolean
  /** What it is about, where its rows do not say it: for the audit record. */
  readonly about?: CommitSubject
}

export interface StoreOptions {
  readonly engine: StorageEngine
  readonly clock: Clock
  /**
   * Freezes every row that is stored, so that a test fails where something changes one in place.
   */
  readonly freezeRows?: boolean
  /** Another server leads: nothing is committed here before `lead` is called. */
  readonly follows?: boolean
  /**
   * Calls a function when what is to be done in this turn is done: what is committed until then
   * shares a write. Right after the running function unless given.
   */
  readonly atEndOfTurn?: (work: () => void) => void
  /** Rows between two marks of a checkpoint; for tests. */
  readonly rowsPerPart?: number
  /** Told of each commit of this server as it is applied. */
  readonly onCommit?: CommitObserver | undefined
  /** Characters of the log that are applied together at a start; for tests. */
  readonly sliceChars?: number
}

/**
 * All current state, and the only way to change it. A change is applied in memory at once, so the
 * next decision sees it, and revealed when the engine has made it durable. While one write is in
 * flight, whatever is submitted gathers into the next (group commit).
 */
export class Store {
  readonly tables: Tables
  readonly watches: Watches
  readonly log: CommitLog
  readonly #engine: StorageEngine
  readonly #clock: Clock
  readonly #writer: RowWriter
  readonly #allTables: readonly Table<object>[]
  readonly #namespaces: NamespaceIndexes
  readonly #rows: CommittedRows
  readonly #parts: CheckpointParts
  #index: number
  #durableIndex: number
  #gathering: Batch | undefined
  #flushing: Batch | undefined
  #flushingSinceMs = 0
  #fault: Fault | undefined
  /** Why only commits that delete rows are accepted. */
  #restriction: Fault | undefined
  #follows: boolean
  /** Why a server that does not commit refuses to; that it follows, unless there is another. */
  #refusal: Fault | undefined
  readonly #atEndOfTurn: (work: () => void) => void
  readonly #onCommit: CommitObserver | undefined
  #tellFault: (fault: Fault) => void = () => undefined
  #checkpointing: Promise<void> | undefined
  readonly #observers = new Map<TableName, TableObserver<never>[]>()

  /** Loads the checkpoint, applies the log after it. Rejects with the engine's fault. */
  static async open(options: StoreOptions): Promise<Store> {
    const store = new Store(options)
    await store.#rows.load(options.engine, {
      onApplied: (index, rows) => store.#parts.note(index, rows),
      sliceChars: options.sliceChars,
    })
    return store
  }

  private constructor(options: StoreOptions) {
    this.#engine = options.engine
    this.#clock = options.clock
    this.#writer = new RowWriter(options.freezeRows ?? false)
    this.#follows = options.follows ?? false
    this.#onCommit = options.onCommit
    this.#atEndOfTurn = options.atEndOfTurn ?? ((work) => void DONE.then(work))
    this.tables = createTables()
    // Object.keys of Tables gives exactly its names.
    this.#allTables = (Object.keys(this.tables) as TableName[]).map((name) => this.#table(name))
    const namespaced = this.#allTables.filter(({ spec }) => spec.namespace !== undefined)
    this.#namespaces = new NamespaceIndexes(namespaced.map(({ spec }) => spec.name))
    this.#rows = new CommittedRows(this.tables, this.#namespaces)
    this.#parts = new CheckpointParts(this.#allTables, options.rowsPerPart)
    this.watches = new Watches(options.clock)
    this.log = new CommitLog(options.engine)
    this.#index = options.engine.opened.lastIndex
    this.#durableIndex = this.#index
  }

  /** Index of the last applied commit. Never goes back. */
  get index(): number {
    return this.#index
  }

  /** Index of the last commit that anyone may be told of. */
  get durableIndex(): number {
    return this.#durableIndex
  }

  /** Index of the last commit that wrote to the table in these namespaces; deletes count. */
  indexIn(table: NamespacedTable, scope: NamespaceScope): number {
    if (scope.kind === 'every') return this.tables[table].lastIndex
    return this.#namespaces.indexOfSome(table, scope)
  }

  /** Why nothing can be written any more; undefined while all is well. */
  get fault(): Fault | undefined {
    return this.#fault
  }

  /** How long the commits that are being written have been waiting for the engine; 0 for none. */
  get commitWaitMs(): number {
    return this.#flushing === undefined ? 0 : this.#clock.monotonicMs() - this.#flushingSinceMs
  }

  /** Why only commits that free space are accepted; undefined otherwise, also with a fault. */
  get restriction(): Fault | undefined {
    return this.#restriction
  }

  /**
   * The engine has recovered from the fault: what was not durable then was taken back, here and
   * there. `deletes`: only commits that free space are accepted, until it is called with `all`.
   */
  resume(scope: 'all' | 'deletes'): void {
    // Deletes that were accepted meanwhile may be under way; after a fault nothing is.
    const isIdle = this.#flushing === undefined && this.#gathering === undefined
    assert(this.#fault === undefined || isIdle, 'nothing is under way after a fault')
    this.#restriction = scope === 'all' ? undefined : (this.#fault ?? this.#restriction)
    this.#fault = undefined
  }

  /** Calls `listener` whenever the engine fails. */
  onFault(listener: (fault: Fault) => void): void {
    this.#tellFault = listener
  }

  /** Rows written since the last checkpoint. */
  get dirtyRows(): number {
    let rows = 0
    for (const table of this.#allTables) rows += table.dirtyRows
    return rows
  }

  /**
   * Applies one commit. Throws a Fault when the engine has failed or cannot keep up; nothing is
   * applied then. A request without changes and blobs commits nothing and answers with the current
   * index.
   */
  commit(request: CommitRequest): Commitment {
    this.#refuseWhenFaulty()
    const stamp = { index: this.#index + 1, timeMs: this.#clock.nowMs() }
    const asked = request.changes(stamp)
    const blobs = request.blobs ?? []
    if (asked.length === 0 && blobs.length === 0)
      return { index: this.#index, timeMs: stamp.timeMs, durable: this.settled() }
    const { by, cause, about, freesSpace } = request
    if (this.#restriction !== undefined && !(freesSpace ?? asked.some(isDelete)))
      throw this.#restriction
    const changes =
      by === 'system'
        ? asked
        : [...asked, put('audit_records', auditRecord(by, { ...stamp, changes: asked, about }))]
    const batch = this.#gather()
    const applied = changes.map((change) => this.#apply(change, stamp, batch.undo))
    this.#writer.forget()
    const events = cause === undefined ? [] : eventMarks(cause, applied, stamp.index)
    const commit: Commit = { ...stamp, rows: applied.map((one) => one.committed), events }
    this.#index = stamp.index
    this.#parts.note(stamp.index, changes.length)
    batch.commits.push(commit)
    const gone = this.#ownerlessBlobs(applied, blobs)
    batch.entries.push(new CommitEntry(commit, [...blobs, ...gone]))
    this.#onCommit?.(commit, { by, durable: batch.done })
    return { ...stamp, durable: batch.done }
  }

  /**
   * Resolves when everything applied so far is durable. Whoever read state awaits it before telling
   * anyone; it costs nothing while no write is in flight.
   */
  settled(): Promise<void> {
    if (this.#fault !== undefined || this.#durableIndex === this.#index) return DONE
    const batch = this.#gathering ?? this.#flushing
    assert(batch !== undefined, 'an applied commit that is not durable is in a batch')
    return batch.done
  }

  /** Reports changes of a table to an observer until the returned function is called. */
  observe<N extends TableName>(table: N, observer: TableObserver<N>): () => void {
    // An observer receives rows of its own table only.
    const own = observer as TableObserver<never>
    this.#observers.set(table, [...(this.#observers.get(table) ?? []), own])
    return () => {
      const others = (this.#observers.get(table) ?? []).filter((one) => one !== own)
      this.#observers.set(table, others)
    }
  }

  readBlob(key: string): Promise<Uint8Array | undefined> {
    return this.#engine.readBlob(key)
  }

  /**
   * Applies what another server has made durable, in order and without a gap. Observers, watches
   * and the stream hear of it as of a commit of this server.
   */
  follow(entries: readonly LogEntry[]): void {
    assert(this.#follows, 'a leader follows nobody')
    const commits = entries.map((entry) => this.#applyEntry(entry))
    for (const table of this.#allTables) table.forgetDirty()
    this.log.add(commits)
    this.watches.notify(commits)
  }

  /**
   * From now on this server commits. Everything in the log was followed. What the checkpoint, which
   * reaches to `upTo`, does not hold is written with the next one.
   */
  async lead(upTo: number): Promise<void> {
    for await (const entry of this.#engine.read(upTo + 1))
      for (const { table, key } of decodeCommit(entry.text).rows)
        this.#rows.table(table).markDirty(key)
    this.#follows = false
  }

  /** This server leads and only reads: commits are refused for this reason until `lead`. */
  refuseCommits(fault: Fault): void {
    assert(this.#follows, 'a server that commits has no reason to refuse')
    this.#refusal = fault
  }

  /**
   * Writes every dirty row once, oldest first, and moves the checkpoint part by part. One at a
   * time; callers share a running one.
   */
  checkpoint(): Promise<void> {
    this.#checkpointing ??= this.#writeCheckpoint()
      .catch((thrown: unknown) => this.#checkpointFailed(thrown))
      .finally(() => {
        this.#checkpointing = undefined
      })
    return this.#checkpointing
  }

  /**
   * An engine that recovers takes no more writes until it has: callers are told at once, not at the
   * next write. An append that runs meanwhile may still succeed, so it is waited for.
   */
  async #checkpointFailed(thrown: unknown): Promise<never> {
    await this.settled().catch(() => undefined)
    const isTold = this.#fault !== undefined || this.#flushing !== undefined
    const isLasting = isRecoverable(this.#engine) && thrown instanceof Fault
    if (isLasting && !isTold && thrown.kind !== 'storage-closed') this.#failed(thrown)
    throw thrown
  }

  /** Another server leads by now: what is not durable is taken back, and nothing is written. */
  abandon(fault: Fault): void {
    this.#failed(fault)
  }

  /** Waits for what was submitted, checkpoints, closes the engine. */
  async close(): Promise<void> {
    await this.settled()
    const isWritable = this.#fault === undefined && this.#restriction === undefined
    if (isWritable && !this.#follows) await this.checkpoint()
    this.#fault ??= new Fault('storage-closed', 'the server is shutting down')
    this.watches.notifyAll()
    await this.#engine.close()
  }

  #refuseWhenFaulty(): void {
    if (this.#fault !== undefined) throw this.#fault
    if (this.#follows) throw this.#refusal ?? new Fault('no-leader', 'this server does not lead')
    if ((this.#gathering?.entries.length ?? 0) >= PENDING_COMMITS_MAX)
      throw new Fault('storage-overloaded', 'the storage cannot keep up with the writes; try again')
  }

  #apply(change: Change, stamp: Stamp, undo: Undo[]): AppliedRow {
    const table = this.#table(change.table)
    const key = change.row === undefined ? change.key : table.spec.key(change.row)
    const { lastIndex } = table
    if (lastIndex !== stamp.index) {
      table.lastIndex = stamp.index
      undo.push(() => {
        table.lastIndex = lastIndex
      })
    }
    const observers = this.#observers.get(change.table) ?? NO_OBSERVERS
    const known = table.entry(key)
    // Decoding the old row is worth it only where somebody asks for it.
    const isAsked = change.row === undefined || observers.length > 0
    const before = known !== undefined && isAsked ? table.rowOf(known) : undefined
    if (change.row === undefined) {
      const row = before
      const text = { ...IN_ONE, body: table.bodyOf(key) ?? 'null' }
      undo.push(table.delete(key))
      tell(observers, before, undefined)
      const namespace = row === undefined ? undefined : table.spec.namespace?.(row)
      const committed = { table: change.table, key, header: undefined, text, namespace }
      this.#noteWrite(committed, stamp.index, undo)
      return { row, committed }
    }
    const header = [known?.createIndex ?? stamp.index, stamp.index] as const
    const { stamped, pieces, namespace } = table.spec
    const { row, text } = this.#writer.write(change.row, {
      indexes: header,
      stamped,
      pieces,
      before: pieces === undefined || known === undefined ? undefined : decodedText(known),
    })
    undo.push(table.put(key, { indexes: header, text, row }, known))
    tell(observers, before, row)
    const committed = { table: change.table, key, header, text, namespace: namespace?.(row) }
    this.#noteWrite(committed, stamp.index, undo)
    return { row, committed }
  }

  #noteWrite(written: CommittedRow, index: number, undo: Undo[]): void {
    const takeBack = this.#namespaces.wrote(written, index)
    if (takeBack !== undefined) undo.push(takeBack)
  }

  /** Blobs whose last row was removed: nobody who removes rows has to think of them. */
  #ownerlessBlobs(applied: readonly AppliedRow[], given: readonly BlobChange[]): BlobChange[] {
    if (applied.every(({ committed }) => committed.header !== undefined)) return []
    const keys = new Set<string>()
    for (const { committed, row } of applied) {
      if (committed.header !== undefined || row === undefined) continue
      // The store applies rows of its own tables only.
      const table = this.#table(committed.table as TableName)
      const { blobGroup = '', groups } = table.spec
      const key = groups[blobGroup]?.(row)
      if (key !== undefined && table.countIn(blobGroup, key) === 0) keys.add(key)
    }
    for (const { key } of given) keys.delete(key)
    return [...keys].map((key) => ({ key, bytes: undefined }))
  }

  #gather(): Batch {
    if (this.#gathering !== undefined) return this.#gathering
    const batch = newBatch()
    this.#gathering = batch
    if (this.#flushing === undefined) this.#atEndOfTurn(() => this.#flush())
    return batch
  }

  #flush(): void {
    const batch = this.#gathering
    if (batch === undefined || this.#flushing !== undefined) return
    this.#flushing = batch
    this.#flushingSinceMs = this.#clock.monotonicMs()
    this.#gathering = undefined
    this.#engine.append(batch.entries).then(
      () => this.#flushed(batch),
      (cause: unknown) => this.#failed(cause),
    )
  }

  #flushed(batch: Batch): void {
    // Given up meanwhile: whoever waited was told that its outcome is open.
    if (this.#fault !== undefined) return
    this.#flushing = undefined
    this.#durableIndex = batch.entries.at(-1)?.index ?? this.#durableIndex
    this.#flush()
    batch.settle()
    this.log.add(batch.commits)
    this.watches.notify(batch.commits)
  }

  /** Memory goes back to what is durable: reads stay true, writes are refused until a restart. */
  #failed(cause: unknown): void {
    if (this.#fault !== undefined) return
    const fault =
      cause instanceof Fault ? cause : new Fault('storage-failed', String(cause), { cause })
    this.#fault = fault
    this.#restriction = undefined
    const doomed = [this.#flushing, this.#gathering].filter((batch) => batch !== undefined)
    for (const undo of doomed.flatMap((one) => one.undo).toReversed()) undo()
    for (const observer of [...this.#observers.values()].flat()) observer.reset()
    this.#flushing = undefined
    this.#gathering = undefined
    this.#index = this.#durableIndex
    for (const one of doomed) one.settle(fault)
    this.watches.notifyAll()
    this.#tellFault(fault)
  }

  async #writeCheckpoint(): Promise<void> {
    // The values of this moment; their texts are made piece by piece, as the engine takes them:
    // together they would keep everybody waiting for a good part of a second.
    for (const table of this.#allTables) table.beginCheckpoint()
    // Later than the marks of all parts but the last. That does no harm: the log behind a mark is
    // applied again at a start, and raises them to the same values.
    const tableIndexes: Record<string, number> = {}
    for (const table of this.#allTables) tableIndexes[table.spec.name] = table.lastIndex
    Object.assign(tableIndexes, this.#namespaces.stored())
    const parts = this.#parts.take(this.#index)
    let isWritten = false
    try {
      // The rows may hold values that are not durable yet; a checkpoint must not reveal them.
      await this.settled()
      for (const { upTo, rows } of parts) {
        if (this.#fault !== undefined) throw this.#fault
        await this.#engine.checkpoint(rows, { upTo, tableIndexes })
      }
      isWritten = true
    } finally {
      for (const table of this.#allTables) table.endCheckpoint(isWritten)
      if (!isWritten) this.#parts.forgetEnds()
    }
  }

  #applyEntry(entry: LogEntry): Commit {
    const commit = decodeCommit(entry.text)
    assert(commit.index === this.#index + 1, 'a follower applies entry after entry')
    const rows = commit.rows.map((row) => this.#followRow(row, commit.index))
    this.#index = commit.index
    this.#durableIndex = commit.index
    return { ...commit, rows }
  }

  #followRow(row: CommittedRow, index: number): CommittedRow {
    const table = this.#rows.table(row.table)
    // A table that is not known was refused by the line above.
    const observers = this.#observers.get(row.table as TableName) ?? NO_OBSERVERS
    const before = observers.length === 0 ? undefined : table.find(row.key)
    const applied = this.#rows.apply(row)
    this.#namespaces.wrote(applied, index)
    table.lastIndex = index
    if (observers.length > 0) tell(observers, before, table.find(row.key))
    return applied
  }

  /** Rows leave and enter through `Row<N>` at the typed edges; in here they are just objects. */
  #table(name: TableName): Table<object> {
    // Table<Row> differs from Table<object> only in what its edges promise to callers.
    return this.tables[name] as unknown as Table<object>
  }
}

const DONE = Promise.resolve()
const NO_OBSERVERS: readonly TableObserver<never>[] = []

function tell(
  observers: readonly TableObserver<never>[],
  before: object | undefined,
  after: object | undefined,
): void {
  // Rows of the table the observers asked for.
  for (const observer of observers) observer.changed(before as never, after as never)
}
