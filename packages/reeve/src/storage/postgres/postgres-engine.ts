import { assert } from '../../kit/fault.ts'
import type {
  CheckpointMark,
  CheckpointRow,
  EnginePosition,
  LogEntry,
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
  logPage,
  type BlobPageRow,
  rowsPage,
  toLogEntry,
  fromRowsPage,
  type LogPageRow,
  type RowsPageRow,
} from './pages.ts'
import { readPosition, type FoundPosition } from './position.ts'
import { corruptFault, fencedFault } from './postgres-faults.ts'
import type { Retry } from './retry.ts'
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

/** Nobody leads in this term. */
const NO_TERM = 0

interface EngineParts {
  readonly lanes: Lanes
  readonly retry: Retry
  readonly opened: EnginePosition
}

/**
 * The state of several servers in one database. Whoever holds the lease writes, in its term; the
 * others follow the log and may read everything. Does not close the connections: the lease outlives
 * it.
 */
export class PostgresEngine implements MovableEngine {
  readonly opened: EnginePosition
  readonly #lanes: Lanes
  readonly #retry: Retry
  readonly #calls = new RunningCalls()
  #term = NO_TERM
  #step = 0
  #lastIndex: number
  #firstIndex: number
  #upTo: number
  #appending = false
  #keeping = false

  constructor(parts: EngineParts) {
    this.opened = parts.opened
    this.#lanes = parts.lanes
    this.#retry = parts.retry
    this.#lastIndex = parts.opened.lastIndex
    this.#firstIndex = parts.opened.firstIndex
    this.#upTo = parts.opened.checkpoint.upTo
  }

  /**
   * From now on this engine writes, in the term that its lease was given. Gives where those who led
   * before have left it: what is not applied of their entries has to be read first.
   */
  async lead(term: number): Promise<EnginePosition> {
    const found = await this.#find()
    if (found.term !== term) throw fencedFault(this.#name)
    this.#follow(found.position)
    this.#term = term
    this.#step = found.step
    return found.position
  }

  /** Looks how far the log has come by others; `read` then reaches there. */
  async follow(): Promise<EnginePosition> {
    assert(this.#term === NO_TERM, 'a leader follows nobody')
    const { position } = await this.#find()
    this.#follow(position)
    return position
  }

  #follow({ lastIndex, firstIndex, checkpoint }: EnginePosition): void {
    this.#lastIndex = lastIndex
    this.#firstIndex = firstIndex
    this.#upTo = checkpoint.upTo
  }

  async #find(): Promise<FoundPosition> {
    return await this.#calls.run(() =>
      this.#retry.run('looking at the log', () => readPosition(this.#lanes.read, this.#name)),
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
        const retry = this.#retry
        await appendEntries(entries, { lane, retry, term: this.#term, name: this.#name })
        this.#lastIndex = entries.at(-1)?.index ?? this.#lastIndex
      } finally {
        this.#appending = false
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

  read(fromIndex: number): AsyncGenerator<LogEntry> {
    return this.#entries(Math.max(fromIndex, this.#firstIndex), this.#lastIndex)
  }

  async *#entries(from: number, to: number): AsyncGenerator<LogEntry> {
    for (let next = from; next <= to;) {
      const page = await this.#page<LogPageRow>('reading the log', logPage(next, to))
      if (page.length === 0 && !(await this.#isTrimmed(next, to))) throw this.#gap(next)
      if (page.length === 0) return
      for (const row of page) {
        const entry = toLogEntry(row)
        // Only a trim since the call excuses a later beginning, and nothing a gap in between.
        const isGap = entry.index !== next
        if (isGap && (next !== from || !(await this.#isTrimmed(next, entry.index - 1))))
          throw this.#gap(next)
        next = entry.index + 1
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
      const fence: Fence = [this.#term, ++this.#step]
      const [kept] = await this.#lanes.keep.query<{ kept: string }>(make(fence))
      if (kept?.kept !== '1') throw fencedFault(this.#name)
    })
  }

  #assertLeading(): void {
    if (this.#term === NO_TERM) throw fencedFault(this.#name)
  }

  #gap(index: number): Error {
    return corruptFault(this.#name, `log entry ${index} is missing`)
  }
}

type Page = LogPageRow | RowsPageRow | BlobPageRow
type Write = (make: (fence: Fence) => Statement) => Promise<void>
