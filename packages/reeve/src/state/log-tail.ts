import type { Commit, CommittedRow } from './commit.ts'
import { charsIn } from './row-text.ts'
import type { RowIndexes } from './stored-row.ts'

/**
 * Characters of rows that are applied together. More would coalesce a few writes more, and would be
 * held in memory beside the state that they become.
 */
const SLICE_CHARS_MAX = 64 * 1024 * 1024

/**
 * A slice of the commits behind a checkpoint, as rows. Of each row the last writing counts: to
 * apply all of them took twice as long, and a server that was killed while it was busy is waited
 * for.
 */
export class LogTail {
  readonly #rows = new Map<string, TailRow>()
  readonly #writes: TailWrite[] = []
  readonly #tableIndexes = new Map<string, number>()
  readonly #charsMax: number
  #chars = 0
  #lastIndex = 0

  constructor(charsMax = SLICE_CHARS_MAX) {
    this.#charsMax = charsMax
  }

  /** Whether it is to be applied before more is added. */
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
      this.#chars += charsIn(row.text)
      const name = `${row.table} ${row.key}`
      const known = this.#rows.get(name)
      const tailRow = known ?? { row }
      if (known === undefined) this.#rows.set(name, tailRow)
      // A row that was not there when it was deleted has no last value: nothing was written.
      if (isNothing(row)) continue
      tailRow.row = row
      this.#writes.push({ index, header: row.header, of: tailRow })
    }
  }

  /** In the order in which they were first written. */
  rows(): Iterable<TailRow> {
    return this.#rows.values()
  }

  /** Every writing of a row, in order. */
  writes(): Iterable<TailWrite> {
    return this.#writes
  }

  /** Index of the last commit that wrote to each table. */
  tableIndexes(): Iterable<readonly [table: string, index: number]> {
    return this.#tableIndexes
  }
}

function isNothing({ header, text }: CommittedRow): boolean {
  return header === undefined && text.body === 'null'
}

interface TailRow {
  /** As it was written last. */
  row: CommittedRow
}

interface TailWrite {
  readonly index: number
  /** Undefined: it was deleted. */
  readonly header: RowIndexes | undefined
  readonly of: TailRow
}
