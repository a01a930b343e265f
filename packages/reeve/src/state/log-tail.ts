import type { Commit, CommittedRow } from './commit.ts'

/**
 * What the commits behind a checkpoint make of rows. Of each row the last writing counts: to apply
 * all of them took twice as long, and a server that was killed while it was busy is waited for.
 */
export class LogTail {
  readonly #rows = new Map<string, CommittedRow>()
  readonly #tableIndexes = new Map<string, number>()

  add({ index, rows }: Commit): void {
    for (const row of rows) {
      this.#rows.set(`${row.table} ${row.key}`, row)
      this.#tableIndexes.set(row.table, index)
    }
  }

  /** In the order in which they were first written. */
  rows(): Iterable<CommittedRow> {
    return this.#rows.values()
  }

  /** Index of the last commit that wrote to each table. */
  tableIndexes(): Iterable<readonly [table: string, index: number]> {
    return this.#tableIndexes
  }
}
