import type { Commit, CommittedRow } from './commit.ts'

/**
 * What the commits behind a checkpoint make of rows. Of each row the last writing counts: to apply
 * all of them took twice as long, and a server that was killed while it was busy is waited for.
 */
export class LogTail {
  readonly #rows = new Map<string, TailRow>()
  readonly #tableIndexes = new Map<string, number>()
  readonly #deletions = new Map<string, number>()

  add({ index, rows }: Commit): void {
    for (const row of rows) {
      const name = `${row.table} ${row.key}`
      // A row that is deleted once more has no last value: the first deletion tells more.
      if (!isNothing(row) || !this.#rows.has(name)) this.#rows.set(name, { row, index })
      this.#tableIndexes.set(row.table, index)
      if (row.header === undefined) this.#deletions.set(row.table, index)
    }
  }

  /** In the order in which they were first written. */
  rows(): Iterable<TailRow> {
    return this.#rows.values()
  }

  /** Index of the last commit that wrote to each table. */
  tableIndexes(): Iterable<readonly [table: string, index: number]> {
    return this.#tableIndexes
  }

  /** Index of the last commit that deleted a row of the table; 0 when none did. */
  lastDeletionIn(table: string): number {
    return this.#deletions.get(table) ?? 0
  }
}

function isNothing({ header, text }: CommittedRow): boolean {
  return header === undefined && text.body === 'null'
}

/** The last writing of a row, and the index of its commit. */
interface TailRow {
  readonly row: CommittedRow
  readonly index: number
}
