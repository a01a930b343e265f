import { Fault } from '@reeve/kit/fault.ts'
import { decodeCommit, decodeRow } from './commit-codec.ts'
import type { Commit, CommittedRow, RowIndexes } from './commit.ts'
import type { StorageEngine } from './engine.ts'
import { tableIndexesIn, type NamespaceIndexes } from './watches.ts'
import {
  DetachedTexts,
  type EncodedRow,
  joinRowJson,
  jsonLength,
  type RowJson,
} from './table/row-json.ts'
import type { Table } from './table/table.ts'
import type { TableName, Tables } from './schema/tables.ts'

interface LoadOptions {
  /** Called after each slice with its last index and number of rows. */
  readonly onApplied: (index: number, rows: number) => void
  readonly sliceChars: number | undefined
}

/** Applies encoded rows from the checkpoint, the log or another server. */
export class RowReplayer {
  readonly #tables: Tables
  readonly #namespaces: NamespaceIndexes
  readonly #detachedTexts = new DetachedTexts()
  /** The last decoded row, cached because a job and its version share their JSON. */
  #lastDecoded: EncodedRow | undefined

  constructor(tables: Tables, namespaces: NamespaceIndexes) {
    this.#tables = tables
    this.#namespaces = namespaces
  }

  /** Loads empty tables from the checkpoint, then applies the log after it in slices. */
  async load(engine: StorageEngine, options: LoadOptions): Promise<void> {
    const { upTo, tableIndexes } = engine.initialPosition.checkpoint
    for await (const rows of engine.load())
      for (const row of rows) this.table(row.table).load(row.key, decodeRow(row))
    const indexOf = tableIndexesIn(tableIndexes, upTo)
    // Object.keys of Tables gives exactly its names.
    for (const name of Object.keys(this.#tables) as TableName[]) {
      const table = this.#tables[name]
      table.finishLoading()
      table.lastIndex = indexOf(name)
    }
    const { namespaces } = this.#tables
    for (const key of namespaces.keys())
      this.#namespaces.noteCreated(key, namespaces.createIndexOf(key) ?? 0)
    this.#namespaces.load(tableIndexes, upTo)
    let slice = new ReplayedRows(options.sliceChars)
    for await (const entry of engine.read(upTo + 1)) {
      slice.add(decodeCommit(entry.text))
      if (!slice.isFull) continue
      this.#applySlice(slice, options)
      slice = new ReplayedRows(options.sliceChars)
    }
    this.#applySlice(slice, options)
  }

  /** Puts or deletes a row; returns it with its namespace. */
  apply(committed: CommittedRow): CommittedRow {
    const { table: name, key, header, text } = committed
    const table = this.table(name)
    const namespaceOf = table.spec.namespace
    if (header === undefined) {
      table.delete(key)
      if (namespaceOf === undefined) return committed
      const deletedRow = this.#parseRow(text)
      return deletedRow === null ? committed : { ...committed, namespace: namespaceOf(deletedRow) }
    }
    const row = this.#parseRow(text)
    if (row === null) return committed
    table.put(key, {
      indexes: header,
      text: this.#detachedTexts.detach(text, row, table.spec.rowSplit),
      row,
    })
    return namespaceOf === undefined ? committed : { ...committed, namespace: namespaceOf(row) }
  }

  table(name: string): Table<object> {
    if (!Object.hasOwn(this.#tables, name))
      throw new Fault(
        'storage-version',
        `the data holds a table "${name}" that this version does not know; run the version that wrote it`,
      )
    // Checked above. Table<Row> differs from Table<object> only in the types of its public methods.
    return this.#tables[name as TableName] as unknown as Table<object>
  }

  #applySlice(slice: ReplayedRows, { onApplied }: LoadOptions): void {
    for (const replayedRow of slice.rows()) replayedRow.row = this.apply(replayedRow.row)
    for (const { index, header, target } of slice.writes())
      this.#namespaces.noteWrite({ ...target.row, header }, index)
    for (const [name, index] of slice.tableIndexes()) this.table(name).lastIndex = index
    onApplied(slice.lastIndex, slice.size)
  }

  /** Null if the deleted row did not exist. */
  #parseRow(text: RowJson): object | null {
    if (this.#lastDecoded?.text !== text) {
      // The store encoded this text from a row, or wrote `null` if the row did not exist.
      const row = JSON.parse(joinRowJson(text)) as object | null
      if (row === null) return null
      this.#lastDecoded = { text, row }
    }
    return this.#lastDecoded.row
  }
}

/**
 * Maximum size of the rows that are applied together. Larger slices would merge only few more
 * writes and need more memory beside the resulting state.
 */
const SLICE_CHARS_MAX = 64 * 1024 * 1024

/**
 * Reduces a slice of the commits after the checkpoint to the last write of each row. This halves
 * the time of a recovery after a crash.
 */
class ReplayedRows {
  readonly #rows = new Map<string, ReplayedRow>()
  readonly #writes: ReplayedWrite[] = []
  readonly #tableIndexes = new Map<string, number>()
  readonly #charsMax: number
  #chars = 0
  #lastIndex = 0

  constructor(charsMax = SLICE_CHARS_MAX) {
    this.#charsMax = charsMax
  }

  /** True if the slice must be applied before more commits are added. */
  get isFull(): boolean {
    return this.#chars >= this.#charsMax
  }

  get lastIndex(): number {
    return this.#lastIndex
  }

  get size(): number {
    return this.#rows.size
  }

  add({ index, rows }: Commit): void {
    this.#lastIndex = index
    for (const row of rows) {
      this.#tableIndexes.set(row.table, index)
      this.#chars += jsonLength(row.text)
      const name = `${row.table} ${row.key}`
      const existing = this.#rows.get(name)
      const replayedRow = existing ?? { row }
      if (existing === undefined) this.#rows.set(name, replayedRow)
      // Deleting a row that did not exist writes nothing.
      if (isDeleteOfMissingRow(row)) continue
      replayedRow.row = row
      this.#writes.push({ index, header: row.header, target: replayedRow })
    }
  }

  /** Rows in the order in which they were first written. */
  rows(): Iterable<ReplayedRow> {
    return this.#rows.values()
  }

  /** Every write, in order. */
  writes(): Iterable<ReplayedWrite> {
    return this.#writes
  }

  /** Index of the last commit that wrote to each table. */
  tableIndexes(): Iterable<readonly [table: string, index: number]> {
    return this.#tableIndexes
  }
}

function isDeleteOfMissingRow({ header, text }: CommittedRow): boolean {
  return header === undefined && text.body === 'null'
}

interface ReplayedRow {
  /** The last write of the row. */
  row: CommittedRow
}

interface ReplayedWrite {
  readonly index: number
  /** Undefined if the row was deleted. */
  readonly header: RowIndexes | undefined
  readonly target: ReplayedRow
}
