import type { Clock } from '@reeve/kit/clock.ts'
import { assert, Fault } from '@reeve/kit/fault.ts'
import type { CommitObserver } from './audit-entry.ts'
import { CommitEntry, decodeCommit } from './commit-codec.ts'
import { newBatch, type Batch, type Change, type Stamp } from './change.ts'
import { CheckpointParts } from './checkpoint-parts.ts'
import { RowReplayer } from './replay.ts'
import type { Commit, CommittedRow } from './commit.ts'
import {
  mayFreeSpace,
  withAuditRecord,
  type CommitRequest,
  type CommitResult,
} from './commit-request.ts'
import { isRecoverable, type BlobChange, type LogEntry, type StorageEngine } from './engine.ts'
import { commitEvents, type AppliedRow } from './events.ts'
import { CommitLog } from './commit-log.ts'
import { NamespaceIndexes, type NamespaceScope, Watches } from './watches.ts'
import { notifyObservers, RowEncoder, TableObservers } from './row-writer.ts'
import {
  createTables,
  type NamespacedTable,
  type TableName,
  type TableObserver,
  type Tables,
} from './schema/tables.ts'
import { assertLevelReached } from './schema/settings.ts'
import { UNSPLIT } from './table/row-json.ts'
import { cachedEncoding, type Table, type Undo } from './table/table.ts'

export { put, remove, type Change, type Stamp } from './change.ts'

/**
 * Maximum number of commits that wait for the engine. Beyond it, the disk cannot keep up and
 * commits are rejected.
 */
const PENDING_COMMITS_MAX = 50_000

export interface StoreOptions {
  readonly engine: StorageEngine
  readonly clock: Clock
  /** Freezes every stored row, so that tests fail if code mutates one. */
  readonly freezeRows?: boolean
  /** True if another server leads: commits are rejected until `lead` is called. */
  readonly isFollower?: boolean
  /**
   * Schedules the flush of the open batch; commits made before it runs share one append. Default: a
   * microtask.
   */
  readonly scheduleFlush?: (work: () => void) => void
  /** Rows per checkpoint part; for tests. */
  readonly rowsPerPart?: number
  /** Called with each commit of this server when it is applied. */
  readonly onCommit?: CommitObserver | undefined
  /** Characters of the log applied together at start; for tests. */
  readonly sliceChars?: number
}

/**
 * The current state, and the only way to change it. A change is applied in memory at once, so the
 * next decision sees it, and is revealed when the engine has made it durable. Commits made while a
 * write is in flight are batched into the next one (group commit).
 */
export class Store {
  readonly tables: Tables
  readonly watches: Watches
  readonly log: CommitLog
  readonly #engine: StorageEngine
  readonly #clock: Clock
  readonly #rowEncoder: RowEncoder
  readonly #allTables: readonly Table<object>[]
  readonly #namespaces: NamespaceIndexes
  readonly #replayer: RowReplayer
  readonly #checkpointParts: CheckpointParts
  #index: number
  #durableIndex: number
  #openBatch: Batch | undefined
  #flushingBatch: Batch | undefined
  #flushingSinceMs = 0
  #fault: Fault | undefined
  /** Set while only commits that free space are accepted. */
  #restriction: Fault | undefined
  #isFollower: boolean
  /** Why a follower rejects commits; undefined for the default reason. */
  #commitRefusal: Fault | undefined
  readonly #scheduleFlush: (work: () => void) => void
  readonly #onCommit: CommitObserver | undefined
  #onFault: (fault: Fault) => void = () => undefined
  #checkpointing: Promise<void> | undefined
  readonly #observers = new TableObservers()

  /** Loads the checkpoint and applies the log after it. Rejects with the fault of the engine. */
  static async open(options: StoreOptions): Promise<Store> {
    const store = new Store(options)
    await store.#replayer.load(options.engine, {
      onApplied: (index, rows) => store.#checkpointParts.noteCommit(index, rows),
      sliceChars: options.sliceChars,
    })
    return store
  }

  private constructor(options: StoreOptions) {
    this.#engine = options.engine
    this.#clock = options.clock
    this.#rowEncoder = new RowEncoder(options.freezeRows ?? false)
    this.#isFollower = options.isFollower ?? false
    this.#onCommit = options.onCommit
    this.#scheduleFlush = options.scheduleFlush ?? ((work) => void RESOLVED.then(work))
    this.tables = createTables()
    // Object.keys of Tables gives exactly its names.
    this.#allTables = (Object.keys(this.tables) as TableName[]).map((name) => this.#table(name))
    const namespaced = this.#allTables.filter(({ spec }) => spec.namespace !== undefined)
    this.#namespaces = new NamespaceIndexes(namespaced.map(({ spec }) => spec.name))
    this.#replayer = new RowReplayer(this.tables, this.#namespaces)
    this.#checkpointParts = new CheckpointParts(this.#allTables, options.rowsPerPart)
    this.watches = new Watches(options.clock)
    this.log = new CommitLog(options.engine)
    this.#index = options.engine.initialPosition.lastIndex
    this.#durableIndex = this.#index
  }

  /**
   * Index of the last applied commit. Never decreases, except when a failed batch is rolled back.
   */
  get index(): number {
    return this.#index
  }

  /** Index of the last durable commit. */
  get durableIndex(): number {
    return this.#durableIndex
  }

  /** Index of the last commit that wrote to the table in these namespaces; deletes count. */
  indexIn(table: NamespacedTable, scope: NamespaceScope): number {
    if (scope.kind === 'every') return this.tables[table].lastIndex
    return this.#namespaces.indexOfScope(table, scope)
  }

  /** Why writes fail; undefined while the engine works. */
  get fault(): Fault | undefined {
    return this.#fault
  }

  /** How long the append in flight has been running; 0 if there is none. */
  get commitWaitMs(): number {
    return this.#flushingBatch === undefined ? 0 : this.#clock.monotonicMs() - this.#flushingSinceMs
  }

  /** Why only commits that free space are accepted; undefined otherwise, also after a fault. */
  get restriction(): Fault | undefined {
    return this.#restriction
  }

  /**
   * Called when the engine has recovered from the fault: commits that were not durable were rolled
   * back in memory and in the engine. `deletes`: only commits that free space are accepted until it
   * is called with `all`.
   */
  resume(scope: 'all' | 'deletes'): void {
    // Accepted deletes may be in flight; after a fault nothing is.
    const isIdle = this.#flushingBatch === undefined && this.#openBatch === undefined
    assert(this.#fault === undefined || isIdle, 'nothing is under way after a fault')
    this.#restriction = scope === 'all' ? undefined : (this.#fault ?? this.#restriction)
    this.#fault = undefined
  }

  /** Sets the function that is called when the engine fails; replaces the previous one. */
  onFault(listener: (fault: Fault) => void): void {
    this.#onFault = listener
  }

  /** Rows written since the last checkpoint. */
  get dirtyRows(): number {
    let rows = 0
    for (const table of this.#allTables) rows += table.dirtyRows
    return rows
  }

  /**
   * Applies one commit. Throws a Fault without applying anything if the engine has failed or cannot
   * keep up. A request without changes and blobs commits nothing and returns the current index.
   */
  commit(request: CommitRequest): CommitResult {
    this.#assertWritable()
    const stamp = { index: this.#index + 1, timeMs: this.#clock.nowMs() }
    const requestedChanges = request.changes(stamp)
    const blobs = request.blobs ?? []
    const isEmpty = requestedChanges.length === 0 && blobs.length === 0
    if (isEmpty && request.advancesIndex !== true)
      return { index: this.#index, timeMs: stamp.timeMs, durable: this.whenDurable() }
    if (this.#restriction !== undefined && !mayFreeSpace(request, requestedChanges))
      throw this.#restriction
    const { by, cause } = request
    const changes = withAuditRecord(request, requestedChanges, stamp)
    const batch = this.#currentBatch()
    const applied = changes.map((change) => this.#apply(change, stamp, batch.undo))
    this.#rowEncoder.reset()
    const events = cause === undefined ? [] : commitEvents(cause, applied, stamp.index)
    const commit: Commit = { ...stamp, rows: applied.map((one) => one.committed), events }
    this.#index = stamp.index
    this.#checkpointParts.noteCommit(stamp.index, changes.length)
    batch.commits.push(commit)
    const orphanedBlobs = this.#orphanedBlobs(applied, blobs)
    batch.entries.push(new CommitEntry(commit, [...blobs, ...orphanedBlobs]))
    this.#onCommit?.(commit, { by, durable: batch.done })
    return { ...stamp, durable: batch.done }
  }

  /**
   * Resolves when everything applied so far is durable. Code that read state awaits it before
   * responding; it costs nothing while no write is in flight.
   */
  whenDurable(): Promise<void> {
    if (this.#fault !== undefined || this.#durableIndex === this.#index) return RESOLVED
    const batch = this.#openBatch ?? this.#flushingBatch
    assert(batch !== undefined, 'an applied commit that is not durable is in a batch')
    return batch.done
  }

  /** Returns the current index once it is durable; later commits need not be durable by then. */
  async settledIndex(): Promise<number> {
    const index = this.#index
    await this.whenDurable()
    return index
  }

  /** Reports changes of a table to an observer until the returned function is called. */
  observe<N extends TableName>(table: N, observer: TableObserver<N>): () => void {
    return this.#observers.add(table, observer)
  }

  readBlob(key: string): Promise<Uint8Array | undefined> {
    return this.#engine.readBlob(key)
  }

  /**
   * Applies durable entries of the leader, in order and without gaps. Observers, watches and the
   * stream are notified as for local commits.
   */
  applyReplicated(entries: readonly LogEntry[]): void {
    assert(this.#isFollower, 'a leader follows nobody')
    const commits = entries.map((entry) => this.#applyLogEntry(entry))
    for (const table of this.#allTables) table.clearDirty()
    this.log.add(commits)
    this.watches.notify(commits)
  }

  /**
   * Makes this server the leader. All log entries must have been applied. Marks everything after
   * the checkpoint, which reaches `upTo`, as dirty.
   */
  async startLeading(checkpointIndex: number): Promise<void> {
    for await (const entry of this.#engine.read(checkpointIndex + 1))
      for (const { table, key } of decodeCommit(entry.text).rows)
        this.#replayer.table(table).markDirty(key)
    this.#isFollower = false
  }

  /**
   * Sets the reason for which commits are rejected until `lead` is called: this server leads but is
   * read-only.
   */
  refuseCommits(fault: Fault): void {
    assert(this.#isFollower, 'a server that commits has no reason to refuse')
    this.#commitRefusal = fault
  }

  /**
   * Writes every dirty row once, oldest first, and advances the checkpoint part by part. Concurrent
   * callers share one run.
   */
  checkpoint(): Promise<void> {
    this.#checkpointing ??= this.#writeCheckpoint()
      .catch((thrown: unknown) => this.#onCheckpointFailure(thrown))
      .finally(() => {
        this.#checkpointing = undefined
      })
    return this.#checkpointing
  }

  /**
   * A recovering engine accepts no writes until it has recovered, so callers are notified now
   * instead of at the next write. A running append may still succeed and is awaited first.
   */
  async #onCheckpointFailure(thrown: unknown): Promise<never> {
    await this.whenDurable().catch(() => undefined)
    const isKnown = this.#fault !== undefined || this.#flushingBatch !== undefined
    const mayRecover = isRecoverable(this.#engine) && thrown instanceof Fault
    if (mayRecover && !isKnown && thrown.kind !== 'storage-closed') this.#onFailure(thrown)
    throw thrown
  }

  /**
   * Called when another server has become leader: rolls back commits that are not durable and stops
   * writing.
   */
  abortPending(fault: Fault): void {
    this.#onFailure(fault)
  }

  /** Waits for submitted commits, writes a checkpoint and closes the engine. */
  async close(): Promise<void> {
    await this.whenDurable()
    const isWritable = this.#fault === undefined && this.#restriction === undefined
    if (isWritable && !this.#isFollower) await this.checkpoint()
    this.#fault ??= new Fault('storage-closed', 'the server is shutting down')
    this.watches.notifyAll()
    await this.#engine.close()
  }

  #assertWritable(): void {
    if (this.#fault !== undefined) throw this.#fault
    if (this.#isFollower)
      throw this.#commitRefusal ?? new Fault('no-leader', 'this server does not lead')
    if ((this.#openBatch?.entries.length ?? 0) >= PENDING_COMMITS_MAX)
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
    const observers = this.#observers.of(change.table)
    const existing = table.entry(key)
    // Decode the old row only if it is needed.
    const needsPreviousRow = change.row === undefined || observers.length > 0
    const before = existing !== undefined && needsPreviousRow ? table.rowOf(existing) : undefined
    if (change.row === undefined) {
      const row = before
      const text = { ...UNSPLIT, body: table.rowJsonOf(key) ?? 'null' }
      undo.push(table.delete(key))
      notifyObservers(observers, before, undefined)
      const namespace = row === undefined ? undefined : table.spec.namespace?.(row)
      const committed = { table: change.table, key, header: undefined, text, namespace }
      this.#noteWrite(committed, stamp.index, undo)
      return { row, committed }
    }
    const header = change.indexes ?? ([existing?.createIndex ?? stamp.index, stamp.index] as const)
    const { stamped, rowSplit, namespace, since } = table.spec
    if (since !== undefined) assertLevelReached(this.tables, since)
    const { row, text } = this.#rowEncoder.encode(change.row, {
      indexes: header,
      stamped,
      rowSplit,
      previous:
        rowSplit === undefined || existing === undefined ? undefined : cachedEncoding(existing),
    })
    undo.push(table.put(key, { indexes: header, text, row }, existing))
    notifyObservers(observers, before, row)
    const committed = { table: change.table, key, header, text, namespace: namespace?.(row) }
    this.#noteWrite(committed, stamp.index, undo)
    return { row, committed }
  }

  #noteWrite(written: CommittedRow, index: number, undo: Undo[]): void {
    const undoWrite = this.#namespaces.noteWrite(written, index)
    if (undoWrite !== undefined) undo.push(undoWrite)
  }

  /** Blobs whose last row was deleted, so that code that deletes rows need not handle them. */
  #orphanedBlobs(
    applied: readonly AppliedRow[],
    requestBlobs: readonly BlobChange[],
  ): BlobChange[] {
    if (applied.every(({ committed }) => committed.header !== undefined)) return []
    const keys = new Set<string>()
    for (const { committed, row } of applied) {
      if (committed.header !== undefined || row === undefined) continue
      // The store applies rows of its own tables only.
      const table = this.#table(committed.table as TableName)
      const { blobIndex = '', indexes } = table.spec
      const key = indexes[blobIndex]?.(row)
      if (key !== undefined && table.countByIndex(blobIndex, key) === 0) keys.add(key)
    }
    for (const { key } of requestBlobs) keys.delete(key)
    return [...keys].map((key) => ({ key, bytes: undefined }))
  }

  #currentBatch(): Batch {
    if (this.#openBatch !== undefined) return this.#openBatch
    const batch = newBatch()
    this.#openBatch = batch
    if (this.#flushingBatch === undefined) this.#scheduleFlush(() => this.#flush())
    return batch
  }

  #flush(): void {
    const batch = this.#openBatch
    if (batch === undefined || this.#flushingBatch !== undefined) return
    this.#flushingBatch = batch
    this.#flushingSinceMs = this.#clock.monotonicMs()
    this.#openBatch = undefined
    this.#engine.append(batch.entries).then(
      () => this.#onFlushed(batch),
      (cause: unknown) => this.#onFailure(cause),
    )
  }

  #onFlushed(batch: Batch): void {
    // The batch was abandoned meanwhile: its callers were told that the outcome is unknown.
    if (this.#fault !== undefined) return
    this.#flushingBatch = undefined
    this.#durableIndex = batch.entries.at(-1)?.index ?? this.#durableIndex
    this.#flush()
    batch.settle()
    this.log.add(batch.commits)
    this.watches.notify(batch.commits)
  }

  /**
   * Rolls memory back to the last durable commit: reads stay correct, writes are rejected until
   * recovery or restart.
   */
  #onFailure(cause: unknown): void {
    if (this.#fault !== undefined) return
    const fault =
      cause instanceof Fault ? cause : new Fault('storage-failed', String(cause), { cause })
    this.#fault = fault
    this.#restriction = undefined
    const failedBatches = [this.#flushingBatch, this.#openBatch].filter(
      (batch) => batch !== undefined,
    )
    for (const undo of failedBatches.flatMap((one) => one.undo).toReversed()) undo()
    this.#observers.reset()
    this.#flushingBatch = undefined
    this.#openBatch = undefined
    this.#index = this.#durableIndex
    for (const one of failedBatches) one.settle(fault)
    this.watches.notifyAll()
    this.#onFault(fault)
  }

  async #writeCheckpoint(): Promise<void> {
    // Takes the current values; rows are encoded one by one as the engine consumes them, because
    // encoding all at once would block the thread for a considerable part of a second.
    for (const table of this.#allTables) table.beginCheckpoint()
    // Later than the positions of all parts but the last. That is harmless: the log after a
    // position is replayed at start and raises the indexes to the same values.
    const tableIndexes: Record<string, number> = {}
    for (const table of this.#allTables) tableIndexes[table.spec.name] = table.lastIndex
    Object.assign(tableIndexes, this.#namespaces.toStored())
    const parts = this.#checkpointParts.takeParts(this.#index)
    let isWritten = false
    try {
      // The rows may contain values that are not durable yet, which a checkpoint must not reveal.
      await this.whenDurable()
      for (const { checkpointIndex, rows } of parts) {
        if (this.#fault !== undefined) throw this.#fault
        await this.#engine.checkpoint(rows, { upTo: checkpointIndex, tableIndexes })
      }
      isWritten = true
    } finally {
      for (const table of this.#allTables) table.endCheckpoint(isWritten)
      if (!isWritten) this.#checkpointParts.reset()
    }
  }

  #applyLogEntry(entry: LogEntry): Commit {
    const commit = decodeCommit(entry.text)
    assert(commit.index === this.#index + 1, 'a follower applies entry after entry')
    const rows = commit.rows.map((row) => this.#applyReplicatedRow(row, commit.index))
    this.#index = commit.index
    this.#durableIndex = commit.index
    return { ...commit, rows }
  }

  #applyReplicatedRow(row: CommittedRow, index: number): CommittedRow {
    const table = this.#replayer.table(row.table)
    // Unknown tables were rejected by the line above.
    const observers = this.#observers.of(row.table as TableName)
    const before = observers.length === 0 ? undefined : table.find(row.key)
    const applied = this.#replayer.apply(row)
    this.#namespaces.noteWrite(applied, index)
    table.lastIndex = index
    if (observers.length > 0) notifyObservers(observers, before, table.find(row.key))
    return applied
  }

  /** Public methods use `Row<N>`; internally rows are plain objects. */
  #table(name: TableName): Table<object> {
    // Table<Row> differs from Table<object> only in what its edges promise to callers.
    return this.tables[name] as unknown as Table<object>
  }
}

const RESOLVED = Promise.resolve()
