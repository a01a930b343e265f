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
  CheckpointMark,
  CheckpointRow,
  EnginePosition,
  MovableEngine,
  NewLogEntry,
  StoredBlob,
  StoredRow,
} from '../../state/index.ts'
import { unescapeText } from '../embedded/text-escape.ts'
import { assertAppendable, assertMarkable, trimEnd } from '../log-rules.ts'
import { RunningCalls } from '../running-calls.ts'
import { appendEntries, blobId } from './append-entries.ts'
import type { Lanes, Statement } from './lanes.ts'
import {
  blobsPage,
  entryIdsPage,
  fromRowsPage,
  isBeforePage,
  logPage,
  rowsPage,
  toEntryId,
  toLogEntry,
  type BlobPageRow,
  type EntryIdRow,
  type LogPageRow,
  type RowsPageRow,
} from './pages.ts'
import { readPosition, type FoundPosition } from './position.ts'
import { corruptFault, divergedFault, fencedFault, toPostgresFault } from './postgres-faults.ts'
import { COMMIT_MS_MAX, type Retry } from './retry.ts'
import {
  beginStatement,
  blobsStatement,
  markStatement,
  pieceStatement,
  piecesOf,
  trimStatement,
  type Fence,
} from './write-checkpoint.ts'

const TRIMMED_PER_STATEMENT = 2_000

/** No entry has it, and every trim removes it. */
const PROBE_INDEX = -1
/** More than a few commits need: a database that just has room for one more is full. */
const PROBE_BYTES = 256 * 1024

/** Nobody leads in this term. */
const NO_TERM = 0

interface EngineParts {
  readonly lanes: Lanes
  readonly retry: Retry
  readonly opened: EnginePosition
  /** The entry at the end of the log when it was opened. */
  readonly openedEntry: EntryId | undefined
  /** Told of every append that is durable. */
  readonly history: LogHistory
  /** How long an append may wait; the default of the setting unless given. */
  readonly commitMsMax?: number | undefined
}

/**
 * The state of several servers in one database. Whoever holds the lease writes, in its term; the
 * others follow the log and may read everything. Does not close the connections: the lease outlives
 * it.
 */
export class PostgresEngine implements MovableEngine {
  readonly opened: EnginePosition
  /** The last entry of what `load` and `read` give a store that is opened with it. */
  readonly openedEntry: EntryId
  readonly #lanes: Lanes
  readonly #retry: Retry
  readonly #history: LogHistory
  readonly #commitMsMax: number
  readonly #calls = new RunningCalls()
  #term = NO_TERM
  #holder = ''
  #step = 0
  #acknowledgedStep = 0
  #hasDiverged = false
  #lastIndex: number
  #firstIndex: number
  #upTo: number
  #appending = false
  #keeping = false

  constructor(parts: EngineParts) {
    this.opened = parts.opened
    this.openedEntry = parts.openedEntry ?? { ...NO_ENTRY, index: parts.opened.lastIndex }
    this.#lanes = parts.lanes
    this.#retry = parts.retry
    this.#history = parts.history
    this.#commitMsMax = parts.commitMsMax ?? COMMIT_MS_MAX
    this.#lastIndex = parts.opened.lastIndex
    this.#firstIndex = parts.opened.firstIndex
    this.#upTo = parts.opened.checkpoint.upTo
  }

  /**
   * From now on this engine writes, in the term that its lease was given to its holder. Returns
   * where earlier leaders have left the log. A caller that names the last entry that it has
   * `applied` leads only where the log ends with that entry.
   */
  async lead(
    term: number,
    { holder = '', applied }: { readonly holder?: string; readonly applied?: EntryId } = {},
  ): Promise<EnginePosition> {
    const { position, entry, ...found } = await this.#find(applied?.index)
    if (found.term !== term) throw fencedFault(this.#name)
    if (applied !== undefined) {
      const comparison = compareWithLog(applied, { ...position, entry })
      if (comparison !== 'same' || position.lastIndex !== applied.index)
        throw divergedFault(this.#name, applied.index)
    }
    this.#follow(position)
    this.#term = term
    this.#holder = holder
    this.#step = found.step
    this.#acknowledgedStep = found.step
    return position
  }

  /**
   * Looks how far the log has come by others, and which entry it has where `applied` was; `read`
   * then reaches its end.
   */
  async follow(applied: EntryId = NO_ENTRY): Promise<FollowedLog> {
    assert(this.#term === NO_TERM, 'a leader follows nobody')
    const { position, entry, losses } = await this.#find(applied.index)
    this.#follow(position)
    return { ...position, entry, losses }
  }

  /** Which entries the log holds between two indexes, both included. */
  async entryIds(from: number, to: number): Promise<readonly EntryId[]> {
    const ids: EntryId[] = []
    for (let next = from; next <= to;) {
      const page = await this.#page<EntryIdRow>('comparing the log', entryIdsPage(next, to))
      const last = page.at(-1)
      if (last === undefined) break
      ids.push(...page.map(toEntryId))
      next = Number(last.commit_index) + 1
    }
    return ids
  }

  #follow({ lastIndex, firstIndex, checkpoint }: EnginePosition): void {
    this.#lastIndex = lastIndex
    this.#firstIndex = firstIndex
    this.#upTo = checkpoint.upTo
  }

  async #find(index?: number): Promise<FoundPosition> {
    return await this.#calls.run(() =>
      this.#retry.run('looking at the log', () =>
        readPosition(this.#lanes.read, this.#name, index),
      ),
    )
  }

  async append(entries: readonly NewLogEntry[]): Promise<void> {
    await this.#calls.run(async () => {
      assert(!this.#appending, 'an append waits for the one before')
      if (entries.length === 0) return
      this.#assertLeading()
      assertAppendable(entries, this.#lastIndex)
      this.#appending = true
      try {
        const { append: lane } = this.#lanes
        const [term, nonce] = [this.#term, randomUUID()]
        const fence = { term, nonce, holder: this.#holder }
        const shared = { lane, retry: this.#retry, commitMsMax: this.#commitMsMax }
        await appendEntries(entries, { ...shared, ...fence, name: this.#name })
        for (const { index } of entries) this.#history.add({ index, term, nonce })
        this.#lastIndex = entries.at(-1)?.index ?? this.#lastIndex
      } finally {
        this.#appending = false
      }
    })
  }

  /**
   * Whether entries can be appended to a database that was full or did not answer; `moved`: an
   * append that was given up has happened after all. Rejects when the database is away.
   */
  async isWritable(): Promise<'yes' | 'no' | 'moved'> {
    if (!(await this.#hasSpace())) return 'no'
    // Last: an append that was given up may have waited for the same as this one.
    const { position } = await this.#find()
    return position.lastIndex === this.#lastIndex ? 'yes' : 'moved'
  }

  /** One entry is written beside the log and removed. */
  async #hasSpace(): Promise<boolean> {
    return await this.#calls.run(async () => {
      const { append: lane } = this.#lanes
      const values = [PROBE_INDEX, randomBytes(PROBE_BYTES).toString('base64')]
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
        await lane.query({ text, values: [PROBE_INDEX] })
      }
    })
  }

  async *load(): AsyncGenerator<readonly StoredRow[]> {
    const page = (after: Buffer): Promise<readonly RowsPageRow[]> =>
      this.#page<RowsPageRow>('loading rows', rowsPage(after))
    let coming = page(Buffer.alloc(0))
    for (;;) {
      const rows = await coming
      const last = rows.at(-1)
      if (last === undefined) return
      // Fetched while the caller works on the one before.
      coming = page(last.id)
      coming.catch(() => undefined)
      yield rows.map(fromRowsPage)
    }
  }

  /**
   * Rejects with `log-diverged` when the log does not hold the entry before a page any more:
   * between two pages another database may have taken the place of the first. `after` is the entry
   * before `fromIndex`, where the caller has applied one.
   */
  read(fromIndex: number, after: EntryId = NO_ENTRY): AsyncGenerator<FollowedEntry> {
    return this.#entries(Math.max(fromIndex, this.#firstIndex), this.#lastIndex, after)
  }

  async *#entries(from: number, to: number, after: EntryId): AsyncGenerator<FollowedEntry> {
    let before = after
    for (let next = from; next <= to;) {
      const page = await this.#page<LogPageRow>('reading the log', logPage(next, to))
      const isKnown = before.nonce !== '' && before.index === next - 1
      if (isKnown && !isBeforePage(before, page[0])) throw divergedFault(this.#name, before.index)
      if (page.length === 0 && !(await this.#isTrimmed(next, to))) throw this.#gap(next)
      if (page.length === 0) return
      for (const row of page) {
        const entry = toLogEntry(row)
        // Only a trim since the call excuses a later beginning, and nothing a gap in between.
        const isGap = entry.index !== next
        if (isGap && (next !== from || !(await this.#isTrimmed(next, entry.index - 1))))
          throw this.#gap(next)
        next = entry.index + 1
        before = entry
        yield entry
      }
    }
  }

  /** Whether somebody trimmed all entries of a range: we, or the leader that we follow. */
  async #isTrimmed(from: number, to: number): Promise<boolean> {
    if (from > to || to < this.#firstIndex) return true
    const { position } = await this.#find()
    return to < position.firstIndex
  }

  async checkpoint(rows: Iterable<CheckpointRow>, mark: CheckpointMark): Promise<void> {
    await this.#keep('writing a checkpoint', async (write) => {
      assertMarkable(mark, { lastIndex: this.#lastIndex, upTo: this.#upTo })
      for (const piece of piecesOf(rows)) await write((fence) => pieceStatement(piece, fence))
      await write((fence) => markStatement(mark, fence))
      this.#upTo = mark.upTo
    })
  }

  async trim(beforeIndex: number): Promise<void> {
    await this.#keep('trimming the log', async (write) => {
      const end = trimEnd(beforeIndex, this.#upTo)
      while (this.#firstIndex < end) {
        const next = Math.min(end, this.#firstIndex + TRIMMED_PER_STATEMENT)
        await write((fence) => trimStatement(next, fence))
        this.#firstIndex = next
      }
    })
  }

  async readBlob(key: string): Promise<Uint8Array | undefined> {
    return await this.#calls.run(async () => {
      const statement = {
        name: 'reeve-blob',
        text: 'SELECT bytes FROM reeve_blobs WHERE id = $1',
        values: [blobId(key)],
      }
      const [found] = await this.#retry.run('reading a blob', () =>
        this.#lanes.read.query<{ bytes: Buffer }>(statement),
      )
      return found?.bytes
    })
  }

  async *blobs(): AsyncGenerator<StoredBlob> {
    let after: Buffer = Buffer.alloc(0)
    for (;;) {
      const page = await this.#page<BlobPageRow>('listing blobs', blobsPage(after))
      const last = page.at(-1)
      if (last === undefined) return
      after = last.id
      for (const { key, bytes } of page) yield { key: unescapeText(key), bytes }
    }
  }

  async putBlobs(blobs: readonly StoredBlob[]): Promise<void> {
    await this.#keep('writing blobs', async (write) => {
      await write((fence) => blobsStatement(blobs, fence))
    })
  }

  async beginAt(firstIndex: number): Promise<void> {
    await this.#keep('beginning a log', async (write) => {
      assert(this.#lastIndex === 0, 'only an empty engine begins anywhere')
      await write((fence) => beginStatement(firstIndex, fence))
      this.#lastIndex = firstIndex - 1
      this.#firstIndex = firstIndex
      this.#upTo = firstIndex - 1
    })
  }

  /** Nothing is tried again: whoever does not lead any more does not wait for a lost database. */
  abandon(): void {
    this.#retry.stop()
  }

  async close(): Promise<void> {
    this.#retry.stop()
    await this.#calls.close()
  }

  get #name(): string {
    return this.#lanes.target.name
  }

  async #page<R extends Page>(doing: string, statement: Statement): Promise<readonly R[]> {
    return await this.#calls.run(() =>
      this.#retry.run(doing, () => this.#lanes.read.query<R>(statement)),
    )
  }

  /** Checkpoints and trims take turns; appends do not wait for them. */
  async #keep(doing: string, work: (write: Write) => Promise<void>): Promise<void> {
    await this.#calls.run(async () => {
      assert(!this.#keeping, 'checkpoints and trims do not overlap')
      this.#assertLeading()
      this.#keeping = true
      try {
        await work((make) => this.#write(doing, make))
      } finally {
        this.#keeping = false
      }
    })
  }

  /** Every try has a step of its own, so that only the last of them can still write. */
  async #write(doing: string, make: (fence: Fence) => Statement): Promise<void> {
    await this.#retry.run(doing, async () => {
      const { index, term, nonce } = this.#history.last
      const step = ++this.#step
      const fence: Fence = [this.#term, step, index, term, nonce, this.#acknowledgedStep]
      const [kept] = await this.#lanes.keep.query<{ kept: string }>(make(fence))
      if (kept?.kept !== '1') throw await this.#lostFence()
      this.#acknowledgedStep = step
    })
  }

  /** Nobody else keeps the checkpoint in our term: if its step is not ours, it went back. */
  async #lostFence(): Promise<Fault> {
    const { term } = await readPosition(this.#lanes.keep, this.#name)
    if (term !== this.#term) return fencedFault(this.#name)
    this.#hasDiverged = true
    return divergedFault(this.#name, this.#history.last.index)
  }

  /** The database lacks what this engine has written: whoever leads with it has to begin anew. */
  get hasDiverged(): boolean {
    return this.#hasDiverged
  }

  #assertLeading(): void {
    if (this.#term === NO_TERM) throw fencedFault(this.#name)
  }

  #gap(index: number): Error {
    return corruptFault(this.#name, `log entry ${index} is missing`)
  }
}

type Page = LogPageRow | EntryIdRow | RowsPageRow | BlobPageRow
type Write = (make: (fence: Fence) => Statement) => Promise<void>
