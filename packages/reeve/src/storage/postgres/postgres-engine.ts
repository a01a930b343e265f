import { randomBytes, randomUUID } from 'node:crypto'
import {
  compareWithLog,
  NO_ENTRY,
  type EntryId,
  type FollowedEntry,
  type FollowedLog,
  type LogHistory,
} from '../../cluster/index.ts'
import { assert, Fault } from '@reeve/kit/fault.ts'
import type {
  CheckpointPosition,
  CheckpointRow,
  EnginePosition,
  MigratableEngine,
  AppendEntry,
  StoredBlob,
  StoredRow,
} from '../../state/index.ts'
import { unescapeText } from '../text-escape.ts'
import { assertContiguous, assertCheckpoint, clampTrim, InFlightCalls } from '../engine-rules.ts'
import {
  advanceCheckpointStatement,
  appendEntries,
  blobDigest,
  blobsStatement,
  checkpointBatches,
  type CheckpointFence,
  startLogStatement,
  trimStatement,
  upsertRowsStatement,
} from './write-statements.ts'
import type { ConnectionPools, Statement } from './connections.ts'
import {
  selectBlobsPage,
  selectEntryIds,
  toRow,
  precedesPage,
  selectLogPage,
  selectRowsPage,
  toEntryId,
  toLogEntry,
  type BlobRow,
  type EntryIdRow,
  type LogRow,
  type CheckpointPageRow,
  readPosition,
  type TermPosition,
} from './page-queries.ts'
import {
  corruptFault,
  DEFAULT_COMMIT_TIMEOUT_MS,
  divergedFault,
  fencedFault,
  type Retry,
  toPostgresFault,
} from './postgres-faults.ts'

const TRIM_BATCH_SIZE = 2_000

/** An index that no entry has and every trim removes. */
const PROBE_ENTRY_INDEX = -1
/** Larger than a few commits, so that a database with room for just one more counts as full. */
const PROBE_BYTES = 256 * 1024

/** Nobody leads in this term. */
const NO_TERM = 0

interface PostgresEngineParts {
  readonly lanes: ConnectionPools
  readonly retry: Retry
  readonly opened: EnginePosition
  /** Last log entry at the time of opening. */
  readonly openedEntry: EntryId | undefined
  /** Records every durable append. */
  readonly history: LogHistory
  /** Timeout of an append; defaults to the default of the setting. */
  readonly commitMsMax?: number | undefined
}

/**
 * State of several servers in one database. The lease holder writes in its term; the others follow
 * the log and may read everything. Does not close the connections, because the lease outlives it.
 */
export class PostgresEngine implements MigratableEngine {
  readonly initialPosition: EnginePosition
  /** Last entry that `load` and `read` return to a store opened with this engine. */
  readonly openedEntry: EntryId
  readonly #pools: ConnectionPools
  readonly #retry: Retry
  readonly #history: LogHistory
  readonly #commitTimeoutMs: number
  readonly #inFlightCalls = new InFlightCalls()
  #term = NO_TERM
  #holder = ''
  #step = 0
  #acknowledgedStep = 0
  #hasDiverged = false
  #lastIndex: number
  #firstIndex: number
  #checkpointIndex: number
  #appending = false
  #maintaining = false

  constructor(parts: PostgresEngineParts) {
    this.initialPosition = parts.opened
    this.openedEntry = parts.openedEntry ?? { ...NO_ENTRY, index: parts.opened.lastIndex }
    this.#pools = parts.lanes
    this.#retry = parts.retry
    this.#history = parts.history
    this.#commitTimeoutMs = parts.commitMsMax ?? DEFAULT_COMMIT_TIMEOUT_MS
    this.#lastIndex = parts.opened.lastIndex
    this.#firstIndex = parts.opened.firstIndex
    this.#checkpointIndex = parts.opened.checkpoint.upTo
  }

  /**
   * Makes this engine writable in the term that the lease granted to its holder. Returns the
   * position left by earlier leaders. With `applied`, rejects unless the log ends with that entry.
   */
  async beginTerm(
    term: number,
    { holder = '', applied }: { readonly holder?: string; readonly applied?: EntryId } = {},
  ): Promise<EnginePosition> {
    const { position, entry, ...found } = await this.#readPosition(applied?.index)
    if (found.term !== term) throw fencedFault(this.#name)
    if (applied !== undefined) {
      const comparison = compareWithLog(applied, { ...position, entry })
      if (comparison !== 'same' || position.lastIndex !== applied.index)
        throw divergedFault(this.#name, applied.index)
    }
    this.#setPosition(position)
    this.#term = term
    this.#holder = holder
    this.#step = found.step
    this.#acknowledgedStep = found.step
    return position
  }

  /**
   * Reads the current end of the log and the entry at the index of `applied`; `read` then reaches
   * that end.
   */
  async refresh(applied: EntryId = NO_ENTRY): Promise<FollowedLog> {
    assert(this.#term === NO_TERM, 'a leader follows nobody')
    const { position, entry, lossesVersion } = await this.#readPosition(applied.index)
    this.#setPosition(position)
    return { ...position, entry, losses: lossesVersion }
  }

  /** IDs of the log entries between two indexes, both included. */
  async entryIds(from: number, to: number): Promise<readonly EntryId[]> {
    const ids: EntryId[] = []
    for (let next = from; next <= to;) {
      const page = await this.#queryPage<EntryIdRow>('comparing the log', selectEntryIds(next, to))
      const last = page.at(-1)
      if (last === undefined) break
      ids.push(...page.map(toEntryId))
      next = Number(last.commit_index) + 1
    }
    return ids
  }

  #setPosition({ lastIndex, firstIndex, checkpoint }: EnginePosition): void {
    this.#lastIndex = lastIndex
    this.#firstIndex = firstIndex
    this.#checkpointIndex = checkpoint.upTo
  }

  async #readPosition(index?: number): Promise<TermPosition> {
    return await this.#inFlightCalls.run(() =>
      this.#retry.run('looking at the log', () =>
        readPosition(this.#pools.read, this.#name, index),
      ),
    )
  }

  async append(entries: readonly AppendEntry[]): Promise<void> {
    await this.#inFlightCalls.run(async () => {
      assert(!this.#appending, 'an append waits for the one before')
      if (entries.length === 0) return
      this.#assertLeading()
      assertContiguous(entries, this.#lastIndex)
      this.#appending = true
      try {
        const { append: lane } = this.#pools
        const [term, nonce] = [this.#term, randomUUID()]
        const fence = { term, nonce, holder: this.#holder }
        const shared = { lane, retry: this.#retry, commitMsMax: this.#commitTimeoutMs }
        await appendEntries(entries, { ...shared, ...fence, name: this.#name })
        for (const { index } of entries) this.#history.add({ index, term, nonce })
        this.#lastIndex = entries.at(-1)?.index ?? this.#lastIndex
      } finally {
        this.#appending = false
      }
    })
  }

  /**
   * Checks if a database that was full or did not respond is writable again; `moved`: an abandoned
   * append has happened after all. Rejects if the database is unavailable.
   */
  async isWritable(): Promise<'yes' | 'no' | 'moved'> {
    if (!(await this.#hasSpace())) return 'no'
    // Last, because an abandoned append may have waited for the same reason.
    const { position } = await this.#readPosition()
    return position.lastIndex === this.#lastIndex ? 'yes' : 'moved'
  }

  /** Writes and removes a probe entry. */
  async #hasSpace(): Promise<boolean> {
    return await this.#inFlightCalls.run(async () => {
      const { append: lane } = this.#pools
      const values = [PROBE_ENTRY_INDEX, randomBytes(PROBE_BYTES).toString('base64')]
      try {
        await lane.query({
          text: `INSERT INTO reeve_log (commit_index, term, nonce, time_ms, body)
            VALUES ($1, 0, '', 0, $2) ON CONFLICT (commit_index) DO UPDATE SET body = $2`,
          values,
        })
        return true
      } catch (thrown) {
        const fault = toPostgresFault(thrown, this.#name, 'looking for space')
        if (fault instanceof Fault && fault.kind === 'storage-full') return false
        throw fault
      } finally {
        const text = 'DELETE FROM reeve_log WHERE commit_index = $1'
        await lane.query({ text, values: [PROBE_ENTRY_INDEX] })
      }
    })
  }

  async *load(): AsyncGenerator<readonly StoredRow[]> {
    const fetchPage = (after: Buffer): Promise<readonly CheckpointPageRow[]> =>
      this.#queryPage<CheckpointPageRow>('loading rows', selectRowsPage(after))
    let nextPage = fetchPage(Buffer.alloc(0))
    for (;;) {
      const rows = await nextPage
      const last = rows.at(-1)
      if (last === undefined) return
      // Prefetch while the caller processes the current page.
      nextPage = fetchPage(last.id)
      nextPage.catch(() => undefined)
      yield rows.map(toRow)
    }
  }

  /**
   * Rejects with `log-diverged` if the log no longer contains the entry before a page: the database
   * may have been replaced between two pages. `after` is the entry before `fromIndex`, if the
   * caller has applied one.
   */
  read(fromIndex: number, after: EntryId = NO_ENTRY): AsyncGenerator<FollowedEntry> {
    return this.#entries(Math.max(fromIndex, this.#firstIndex), this.#lastIndex, after)
  }

  async *#entries(from: number, to: number, after: EntryId): AsyncGenerator<FollowedEntry> {
    let previous = after
    for (let next = from; next <= to;) {
      const page = await this.#queryPage<LogRow>('reading the log', selectLogPage(next, to))
      const isKnown = previous.nonce !== '' && previous.index === next - 1
      if (isKnown && !precedesPage(previous, page[0]))
        throw divergedFault(this.#name, previous.index)
      if (page.length === 0 && !(await this.#isTrimmed(next, to)))
        throw this.#missingEntryFault(next)
      if (page.length === 0) return
      for (const row of page) {
        const entry = toLogEntry(row)
        // Only a trim since the call explains a later start; nothing explains a gap in between.
        const isGap = entry.index !== next
        if (isGap && (next !== from || !(await this.#isTrimmed(next, entry.index - 1))))
          throw this.#missingEntryFault(next)
        next = entry.index + 1
        previous = entry
        yield entry
      }
    }
  }

  /** True if all entries of a range were trimmed, by this server or by the leader. */
  async #isTrimmed(from: number, to: number): Promise<boolean> {
    if (from > to || to < this.#firstIndex) return true
    const { position } = await this.#readPosition()
    return to < position.firstIndex
  }

  async checkpoint(rows: Iterable<CheckpointRow>, mark: CheckpointPosition): Promise<void> {
    await this.#maintain('writing a checkpoint', async (write) => {
      assertCheckpoint(mark, { lastIndex: this.#lastIndex, upTo: this.#checkpointIndex })
      for (const batch of checkpointBatches(rows))
        await write((fence) => upsertRowsStatement(batch, fence))
      await write((fence) => advanceCheckpointStatement(mark, fence))
      this.#checkpointIndex = mark.upTo
    })
  }

  async trim(beforeIndex: number): Promise<void> {
    await this.#maintain('trimming the log', async (write) => {
      const end = clampTrim(beforeIndex, this.#checkpointIndex)
      while (this.#firstIndex < end) {
        const next = Math.min(end, this.#firstIndex + TRIM_BATCH_SIZE)
        await write((fence) => trimStatement(next, fence))
        this.#firstIndex = next
      }
    })
  }

  async readBlob(key: string): Promise<Uint8Array | undefined> {
    return await this.#inFlightCalls.run(async () => {
      const statement = {
        name: 'reeve-blob',
        text: 'SELECT bytes FROM reeve_blobs WHERE id = $1',
        values: [blobDigest(key)],
      }
      const [found] = await this.#retry.run('reading a blob', () =>
        this.#pools.read.query<{ bytes: Buffer }>(statement),
      )
      return found?.bytes
    })
  }

  async *blobs(): AsyncGenerator<StoredBlob> {
    let after: Buffer = Buffer.alloc(0)
    for (;;) {
      const page = await this.#queryPage<BlobRow>('listing blobs', selectBlobsPage(after))
      const last = page.at(-1)
      if (last === undefined) return
      after = last.id
      for (const { key, bytes } of page) yield { key: unescapeText(key), bytes }
    }
  }

  async putBlobs(blobs: readonly StoredBlob[]): Promise<void> {
    await this.#maintain('writing blobs', async (write) => {
      await write((fence) => blobsStatement(blobs, fence))
    })
  }

  async startLogAt(firstIndex: number): Promise<void> {
    await this.#maintain('beginning a log', async (write) => {
      assert(this.#lastIndex === 0, 'only an empty engine begins anywhere')
      await write((fence) => startLogStatement(firstIndex, fence))
      this.#lastIndex = firstIndex - 1
      this.#firstIndex = firstIndex
      this.#checkpointIndex = firstIndex - 1
    })
  }

  /** Stops retries: a deposed leader does not wait for a lost database. */
  stopRetrying(): void {
    this.#retry.stop()
  }

  async close(): Promise<void> {
    this.#retry.stop()
    await this.#inFlightCalls.close()
  }

  get #name(): string {
    return this.#pools.target.name
  }

  async #queryPage<R extends Page>(operation: string, statement: Statement): Promise<readonly R[]> {
    return await this.#inFlightCalls.run(() =>
      this.#retry.run(operation, () => this.#pools.read.query<R>(statement)),
    )
  }

  /** Runs checkpoints and trims one at a time; appends do not wait for them. */
  async #maintain(operation: string, work: (write: Write) => Promise<void>): Promise<void> {
    await this.#inFlightCalls.run(async () => {
      assert(!this.#maintaining, 'checkpoints and trims do not overlap')
      this.#assertLeading()
      this.#maintaining = true
      try {
        await work((make) => this.#write(operation, make))
      } finally {
        this.#maintaining = false
      }
    })
  }

  /** Every attempt has its own step number, so that only the last one can still write. */
  async #write(
    operation: string,
    buildStatement: (fence: CheckpointFence) => Statement,
  ): Promise<void> {
    await this.#retry.run(operation, async () => {
      const { index, term, nonce } = this.#history.last
      const step = ++this.#step
      const fence: CheckpointFence = [this.#term, step, index, term, nonce, this.#acknowledgedStep]
      const [fenced] = await this.#pools.maintenance.query<{ fenced: string }>(
        buildStatement(fence),
      )
      if (fenced?.fenced !== '1') throw await this.#fenceLostFault()
      this.#acknowledgedStep = step
    })
  }

  /**
   * Nobody else writes the checkpoint in this term: an unexpected step number means that the
   * database went back.
   */
  async #fenceLostFault(): Promise<Fault> {
    const { term } = await readPosition(this.#pools.maintenance, this.#name)
    if (term !== this.#term) return fencedFault(this.#name)
    this.#hasDiverged = true
    return divergedFault(this.#name, this.#history.last.index)
  }

  /**
   * True if the database lacks writes of this engine: the leader must restart from the database.
   */
  get hasDiverged(): boolean {
    return this.#hasDiverged
  }

  #assertLeading(): void {
    if (this.#term === NO_TERM) throw fencedFault(this.#name)
  }

  #missingEntryFault(index: number): Error {
    return corruptFault(this.#name, `log entry ${index} is missing`)
  }
}

type Page = LogRow | EntryIdRow | CheckpointPageRow | BlobRow
type Write = (make: (fence: CheckpointFence) => Statement) => Promise<void>
