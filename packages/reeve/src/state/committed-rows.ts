import { Fault } from '@reeve/kit/fault.ts'
import { decodeCommit, decodeRow } from './codec.ts'
import type { CommittedRow } from './commit.ts'
import type { StorageEngine } from './engine.ts'
import { LogTail } from './log-tail.ts'
import { tableIndexesIn, type NamespaceIndexes } from './namespace-indexes.ts'
import { OwnTexts } from './own-texts.ts'
import { wholeText, type RowText, type TextedRow } from './row-text.ts'
import type { Table } from './table.ts'
import type { TableName, Tables } from './tables.ts'

interface LoadOptions {
  /** Called with the last index of each slice and the number of its rows. */
  readonly onApplied: (index: number, rows: number) => void
  readonly sliceChars: number | undefined
}

/** Applies rows as they were written down: from the checkpoint, the log, or another server. */
export class CommittedRows {
  readonly #tables: Tables
  readonly #namespaces: NamespaceIndexes
  readonly #texts = new OwnTexts()
  /** What was decoded last: a job and its version have one text. */
  #decoded: TextedRow | undefined

  constructor(tables: Tables, namespaces: NamespaceIndexes) {
    this.#tables = tables
    this.#namespaces = namespaces
  }

  /** Fills empty tables from the checkpoint and the log after it, which is applied in slices. */
  async load(engine: StorageEngine, options: LoadOptions): Promise<void> {
    const { upTo, tableIndexes } = engine.opened.checkpoint
    for await (const rows of engine.load())
      for (const row of rows) this.table(row.table).restore(row.key, decodeRow(row))
    const indexOf = tableIndexesIn(tableIndexes, upTo)
    // Object.keys of Tables gives exactly its names.
    for (const name of Object.keys(this.#tables) as TableName[]) {
      const table = this.#tables[name]
      table.restored()
      table.lastIndex = indexOf(name)
    }
    const { namespaces } = this.#tables
    for (const key of namespaces.keys())
      this.#namespaces.created(key, namespaces.createIndexOf(key) ?? 0)
    this.#namespaces.restore(tableIndexes, upTo)
    let slice = new LogTail(options.sliceChars)
    for await (const entry of engine.read(upTo + 1)) {
      slice.add(decodeCommit(entry.text))
      if (!slice.isFull) continue
      this.#applySlice(slice, options)
      slice = new LogTail(options.sliceChars)
    }
    this.#applySlice(slice, options)
  }

  /** Puts or deletes a row. Gives it with its namespace. */
  apply(written: CommittedRow): CommittedRow {
    const { table: name, key, header, text } = written
    const table = this.table(name)
    const namespaceOf = table.spec.namespace
    if (header === undefined) {
      table.delete(key)
      if (namespaceOf === undefined) return written
      const last = this.#rowOf(text)
      return last === null ? written : { ...written, namespace: namespaceOf(last) }
    }
    const row = this.#rowOf(text)
    if (row === null) return written
    table.put(key, { indexes: header, text: this.#texts.own(text, row, table.spec.pieces), row })
    return namespaceOf === undefined ? written : { ...written, namespace: namespaceOf(row) }
  }

  table(name: string): Table<object> {
    if (!Object.hasOwn(this.#tables, name))
      throw new Fault(
        'storage-version',
        `the data holds a table "${name}" that this version does not know; run the version that wrote it`,
      )
    // Proved by the line above. Table<Row> differs from Table<object> only in what its edges
    // promise to callers.
    return this.#tables[name as TableName] as unknown as Table<object>
  }

  #applySlice(tail: LogTail, { onApplied }: LoadOptions): void {
    for (const tailRow of tail.rows()) tailRow.row = this.apply(tailRow.row)
    for (const { index, header, of } of tail.writes())
      this.#namespaces.wrote({ ...of.row, header }, index)
    for (const [name, index] of tail.tableIndexes()) this.table(name).lastIndex = index
    onApplied(tail.lastIndex, tail.size)
  }

  /** Null of a row that was deleted before it was written. */
  #rowOf(text: RowText): object | null {
    if (this.#decoded?.text !== text) {
      // The store wrote this text from a row, or `null` where there was none.
      const row = JSON.parse(wholeText(text)) as object | null
      if (row === null) return null
      this.#decoded = { text, row }
    }
    return this.#decoded.row
  }
}
