import type { Statement } from '../../src/storage/postgres/connections.ts'
import { readArray, readTextArray } from './pg-array.ts'

type Row = Record<string, unknown>
type Values = readonly unknown[]

/** The sender of a statement. */
export interface Sender {
  /** Name of the process. */
  readonly name: string
}

/** A log entry with its writer and time. */
export interface WrittenEntry {
  readonly index: number
  readonly timeMs: number
  readonly text: string
  readonly term: number
  readonly nonce: string
}

export interface SharedDatabaseOptions {
  /** The clock of the database. */
  readonly nowMs: () => number
  /** Called with entries at the moment they become durable. */
  readonly onAppended: (entries: readonly WrittenEntry[], by: Sender) => void
  /** Called when the lease changes its holder. */
  readonly onLeaseChanged: () => void
}

interface StoredText {
  readonly table: string
  readonly key: string
  readonly body: string
}

/** A copy of the whole database at one time. */
export interface DatabaseCopy {
  readonly leader: LeaderRow
  readonly head: HeadRow
  readonly checkpoint: CheckpointStateRow
  readonly log: ReadonlyMap<number, WrittenEntry>
  readonly rows: ReadonlyMap<string, StoredText>
  readonly blobs: ReadonlyMap<string, Buffer>
  readonly losses: readonly Row[]
}

interface LeaderRow {
  readonly term: number
  readonly holder: string
  readonly address: string
  readonly expiresMs: number
}

interface HeadRow {
  readonly term: number
  readonly lastIndex: number
}

interface CheckpointStateRow {
  readonly term: number
  readonly step: number
  readonly firstIndex: number
  readonly upTo: number
  readonly tableIndexes: string
}

const EXPIRED_MS = 0
/** Small, so that reads need several pages. */
const LOG_PER_PAGE = 50
const ROWS_PER_PAGE = 100
/** Number of values before those of a checkpoint statement. */
const FENCE_VALUES = 6

/**
 * The tables of the PostgreSQL engine and its statements, each executed atomically. Supports
 * exactly the statements of the engine and the lease; any other statement is an error until it is
 * implemented here.
 */
export class SharedDatabase {
  readonly #options: SharedDatabaseOptions
  #leader: LeaderRow = { term: 0, holder: '', address: '', expiresMs: EXPIRED_MS }
  #head: HeadRow = { term: 0, lastIndex: 0 }
  #checkpoint: CheckpointStateRow = { term: 0, step: 0, firstIndex: 1, upTo: 0, tableIndexes: '{}' }
  #log = new Map<number, WrittenEntry>()
  #rows = new Map<string, StoredText>()
  /** Sorted digests of rows, computed on read; undefined after a write. */
  #sortedIds: readonly string[] | undefined
  #blobs = new Map<string, Buffer>()
  #losses: readonly Row[] = []
  readonly #nextTermCallbacks: (() => void)[] = []

  constructor(options: SharedDatabaseOptions) {
    this.#options = options
  }

  get lastIndex(): number {
    return this.#head.lastIndex
  }

  /** The term of the latest lease holder. */
  get term(): number {
    return this.#leader.term
  }

  /** The contents of a standby that stops receiving changes now. */
  copy(): DatabaseCopy {
    return {
      leader: this.#leader,
      head: this.#head,
      checkpoint: this.#checkpoint,
      log: new Map(this.#log),
      rows: new Map(this.#rows),
      blobs: new Map(this.#blobs),
      losses: this.#losses,
    }
  }

  /** Promotes a standby or restores a backup: later changes are lost. */
  promote(copy: DatabaseCopy): void {
    this.#leader = copy.leader
    this.#head = copy.head
    this.#checkpoint = copy.checkpoint
    this.#log = new Map(copy.log)
    this.#rows = new Map(copy.rows)
    this.#blobs = new Map(copy.blobs)
    this.#losses = copy.losses
    this.#sortedIds = undefined
  }

  run(statement: Statement, by: Sender): readonly Row[] {
    const { text, values = [] } = statement
    const handler = STATEMENTS.find(({ matches }) => matches(statement))
    if (handler === undefined) throw new Error(`the simulated database does not know: ${text}`)
    return handler.run(this, values, by)
  }

  acquire([holder, ttlMs, address]: Values): readonly Row[] {
    const nowMs = this.#options.nowMs()
    if (this.#leader.expiresMs > nowMs && this.#leader.holder !== holder) return []
    const term = this.#leader.term + 1
    const expiresMs = nowMs + Number(ttlMs)
    this.#leader = { term, holder: String(holder), address: String(address), expiresMs }
    this.#head = { ...this.#head, term }
    this.#checkpoint = { ...this.#checkpoint, term, step: 0 }
    this.#options.onLeaseChanged()
    for (const arrive of this.#nextTermCallbacks.splice(0)) arrive()
    return [{ term: String(term) }]
  }

  /** Called once, when the lease is acquired next and before any other response. */
  onNextTerm(callback: () => void): void {
    this.#nextTermCallbacks.push(callback)
  }

  renew([holder, ttlMs, term, index, entryTerm, nonce]: Values): readonly Row[] {
    const nowMs = this.#options.nowMs()
    const applied = this.#log.get(Number(index))
    if (nonce !== '' && (applied?.nonce !== nonce || applied?.term !== entryTerm)) return []
    if (this.#leader.term !== term || this.#leader.holder !== holder) return []
    if (this.#leader.expiresMs <= nowMs) return []
    this.#leader = { ...this.#leader, expiresMs: nowMs + Number(ttlMs) }
    return [{ term: String(term) }]
  }

  release([term]: Values): readonly Row[] {
    if (this.#leader.term !== term) return []
    this.#leader = { ...this.#leader, expiresMs: this.#options.nowMs(), address: '' }
    this.#options.onLeaseChanged()
    return [{ term: String(term) }]
  }

  leader(): readonly Row[] {
    const { term, holder, address, expiresMs } = this.#leader
    return [{ term: String(term), holder, address, left_ms: expiresMs - this.#options.nowMs() }]
  }

  position([index]: Values): readonly Row[] {
    const { firstIndex, upTo, tableIndexes } = this.#checkpoint
    const { term, lastIndex } = this.#head
    const at = Number(index ?? lastIndex)
    const entry = this.#log.get(at)
    const accepted = this.#losses.filter((loss) => loss['accepted_at'] !== null).length
    return [
      {
        term: String(term),
        step: String(this.#checkpoint.step),
        last_index: String(lastIndex),
        first_index: String(firstIndex),
        up_to: String(upTo),
        table_indexes: tableIndexes,
        entry_index: String(at),
        entry_term: entry === undefined ? null : String(entry.term),
        entry_nonce: entry?.nonce ?? null,
        losses: `${this.#losses.length}/${accepted}`,
      },
    ]
  }

  get hasOpenLoss(): boolean {
    return this.#losses.some((loss) => loss['accepted_at'] === null)
  }

  listLosses(): readonly Row[] {
    return this.#losses
  }

  recordLoss([id, from, to, foundBy]: Values): readonly Row[] {
    if (this.#losses.some((loss) => loss['id'] === id)) return this.#extendLoss([id, from, to])
    const found_at = new Date(this.#options.nowMs())
    const range = { from_index: String(from), to_index: String(to) }
    this.#losses = [
      ...this.#losses,
      { id, ...range, found_by: foundBy, found_at, accepted_at: null },
    ]
    return []
  }

  #extendLoss([id, from, to]: Values): readonly Row[] {
    this.#losses = this.#losses.map((loss) => {
      if (loss['id'] !== id) return loss
      const from_index = String(Math.min(Number(loss['from_index']), Number(from)))
      return {
        ...loss,
        from_index,
        to_index: String(Math.max(Number(loss['to_index']), Number(to))),
      }
    })
    return []
  }

  acceptLosses(): readonly Row[] {
    const open = this.#losses.filter((loss) => loss['accepted_at'] === null)
    const accepted_at = new Date(this.#options.nowMs())
    this.#losses = this.#losses.map((loss) =>
      open.includes(loss) ? { ...loss, accepted_at } : loss,
    )
    return open.map((loss) => ({ ...loss, accepted_at }))
  }

  append(values: Values, by: Sender): readonly Row[] {
    const [termValue, before, last, nonce, indexes, times, texts, holder] = values
    const term = Number(termValue)
    if (this.#head.term !== term || this.#head.lastIndex !== before) return [{ moved: '0' }]
    if (this.hasOpenLoss) return [{ moved: '0' }]
    if (holder !== '' && this.#leader.holder !== holder) return [{ moved: '0' }]
    this.#head = { ...this.#head, lastIndex: Number(last) }
    const timesMs = readArray(times, (bytes) => bytes.readDoubleBE())
    const bodies = readTextArray(texts)
    const entries = readArray(indexes, (bytes) => Number(bytes.readBigInt64BE())).map(
      (index, n): WrittenEntry => ({
        index,
        timeMs: timesMs[n] ?? 0,
        text: bodies[n] ?? '',
        term,
        nonce: String(nonce),
      }),
    )
    for (const entry of entries) this.#log.set(entry.index, entry)
    this.#changeBlobs(values.slice(8))
    this.#options.onAppended(entries, by)
    return [{ moved: '1' }]
  }

  #changeBlobs([removed, ids, , bytes]: Values): void {
    if (removed === undefined) return
    for (const id of readArray(removed, hexOf)) this.#blobs.delete(id)
    const contents = readArray(bytes, (content) => Buffer.from(content))
    for (const [n, id] of readArray(ids, hexOf).entries())
      this.#blobs.set(id, contents[n] ?? Buffer.alloc(0))
  }

  nonce([index]: Values): readonly Row[] {
    const entry = this.#log.get(Number(index))
    return entry === undefined ? [] : [{ nonce: entry.nonce }]
  }

  logPage([from, to]: Values): readonly Row[] {
    const page: Row[] = []
    for (let index = Number(from); index <= Number(to) && page.length < LOG_PER_PAGE; index++) {
      const entry = this.#log.get(index)
      if (entry === undefined) continue
      const before = index === Number(from) ? this.#log.get(index - 1) : undefined
      page.push({
        ...entryIdOf(entry),
        time_ms: entry.timeMs,
        body: entry.text,
        entry_before: before === undefined ? null : `${before.term}/${before.nonce}`,
      })
    }
    return page
  }

  entryIds([from, to]: Values): readonly Row[] {
    const entries = [...this.#log.values()]
    return entries
      .filter(({ index }) => index >= Number(from) && index <= Number(to))
      .toSorted((a, b) => a.index - b.index)
      .map(entryIdOf)
  }

  rowsPage([after]: Values): readonly Row[] {
    this.#sortedIds ??= [...this.#rows.keys()].toSorted()
    // Proof: the engine's statement passes bytes here.
    const last = hexOf(after as Buffer)
    // A linear search is enough, because worlds are small.
    const from = this.#sortedIds.findIndex((id) => id > last)
    if (from < 0) return []
    return this.#sortedIds.slice(from, from + ROWS_PER_PAGE).flatMap((id) => {
      const row = this.#rows.get(id)
      if (row === undefined) return []
      return [{ id: Buffer.from(id, 'hex'), table_name: row.table, key: row.key, body: row.body }]
    })
  }

  putRows(values: Values): readonly Row[] {
    if (!this.#advanceStep(values)) return [{ fenced: '0' }]
    const [removed, ids, tables, keys, bodies] = values.slice(FENCE_VALUES)
    const [table, key, body] = [readTextArray(tables), readTextArray(keys), readTextArray(bodies)]
    for (const id of readArray(removed, hexOf)) this.#rows.delete(id)
    for (const [n, id] of readArray(ids, hexOf).entries())
      this.#rows.set(id, { table: table[n] ?? '', key: key[n] ?? '', body: body[n] ?? '' })
    this.#sortedIds = undefined
    return [{ fenced: '1' }]
  }

  setCheckpoint(values: Values): readonly Row[] {
    if (!this.#advanceStep(values)) return []
    const [upTo, tableIndexes] = values.slice(FENCE_VALUES)
    this.#checkpoint = {
      ...this.#checkpoint,
      upTo: Number(upTo),
      tableIndexes: String(tableIndexes),
    }
    return [{ fenced: '1' }]
  }

  trim(values: Values): readonly Row[] {
    if (!this.#advanceStep(values)) return [{ fenced: '0' }]
    const firstIndex = Number(values[FENCE_VALUES])
    for (let index = this.#checkpoint.firstIndex; index < firstIndex; index++)
      this.#log.delete(index)
    this.#checkpoint = { ...this.#checkpoint, firstIndex }
    return [{ fenced: '1' }]
  }

  blob([id]: Values): readonly Row[] {
    // Proof: the engine's statement passes bytes here.
    const bytes = this.#blobs.get(hexOf(id as Buffer))
    return bytes === undefined ? [] : [{ bytes }]
  }

  /** The fenced update of the checkpoint state. */
  #advanceStep([term, step, index, entryTerm, nonce, acknowledged]: Values): boolean {
    if (this.#checkpoint.term !== term || this.#checkpoint.step >= Number(step)) return false
    if (this.#checkpoint.step < Number(acknowledged)) return false
    const entry = this.#log.get(Number(index))
    const isHeld = entry?.term === entryTerm && entry?.nonce === nonce
    if (nonce !== '' && !isHeld && this.#checkpoint.firstIndex <= Number(index)) return false
    this.#checkpoint = { ...this.#checkpoint, step: Number(step) }
    return true
  }
}

interface KnownStatement {
  readonly matches: (statement: Statement) => boolean
  readonly run: (database: SharedDatabase, values: Values, by: Sender) => readonly Row[]
}

function hasName(name: string): KnownStatement['matches'] {
  return (statement) => statement.name === name
}

function hasText(text: RegExp): KnownStatement['matches'] {
  return (statement) => statement.name === undefined && text.test(statement.text)
}

const STATEMENTS: readonly KnownStatement[] = [
  { matches: hasName('reeve-append'), run: (db, values, by) => db.append(values, by) },
  { matches: hasName('reeve-append-blobs'), run: (db, values, by) => db.append(values, by) },
  { matches: hasName('reeve-log'), run: (db, values) => db.logPage(values) },
  { matches: hasName('reeve-entry-ids'), run: (db, values) => db.entryIds(values) },
  { matches: hasName('reeve-rows'), run: (db, values) => db.rowsPage(values) },
  { matches: hasName('reeve-checkpoint'), run: (db, values) => db.putRows(values) },
  { matches: hasName('reeve-blob'), run: (db, values) => db.blob(values) },
  { matches: hasText(/^SELECT nonce FROM reeve_log/), run: (db, values) => db.nonce(values) },
  { matches: hasText(/^SELECT head\.term, keep\.step/), run: (db, v) => db.position(v) },
  { matches: hasText(/^SELECT .* FROM reeve_losses/), run: (db) => db.listLosses() },
  { matches: hasText(/^INSERT INTO reeve_losses/), run: (db, values) => db.recordLoss(values) },
  { matches: hasText(/^UPDATE reeve_losses SET accepted_by/), run: (db) => db.acceptLosses() },
  { matches: hasText(/^WITH leader AS/), run: (db, values) => db.acquire(values) },
  {
    matches: hasText(/^UPDATE reeve_leader SET expires_at = clock_timestamp\(\) \+/),
    run: (db, values) => db.renew(values),
  },
  {
    matches: hasText(/^UPDATE reeve_leader SET expires_at = clock_timestamp\(\), address/),
    run: (db, values) => db.release(values),
  },
  { matches: hasText(/^SELECT term, holder/), run: (db) => db.leader() },
  {
    matches: hasText(/^UPDATE reeve_checkpoint SET step = \$2, up_to/),
    run: (db, v) => db.setCheckpoint(v),
  },
  {
    matches: hasText(/DELETE FROM reeve_log WHERE commit_index < \$7/),
    run: (db, v) => db.trim(v),
  },
]

function entryIdOf({ index, term, nonce }: WrittenEntry): Row {
  return { commit_index: String(index), term: String(term), nonce }
}

function hexOf(bytes: Buffer): string {
  return bytes.toString('hex')
}
