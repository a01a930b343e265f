import type { CheckpointRow } from './engine.ts'
import type { Table } from './table/table.ts'

/**
 * Rows written between two checkpoint positions. Each position costs the embedded engine several
 * fsyncs; after a crash, the log behind the last position is replayed, which takes some hundred
 * milliseconds.
 */
const ROWS_PER_PART = 25_000

/** End of one part of the next checkpoint. */
interface PartEnd {
  readonly index: number
  /** Per table, the number of dirty rows first written up to that index. */
  readonly counts: readonly number[]
}

/**
 * One part of a checkpoint: its rows and the index that the checkpoint reaches once they are
 * durable.
 */
interface CheckpointPart {
  readonly checkpointIndex: number
  readonly rows: Iterable<CheckpointRow>
}

/**
 * Divides the dirty rows of all tables by the commits that first wrote them, so that the checkpoint
 * position advances while the checkpoint is written. A row may contain a later value than the
 * position of its part: the commits after the position are replayed at start and result in the same
 * value.
 */
export class CheckpointParts {
  readonly #tables: readonly Table<object>[]
  readonly #rowsPerPart: number
  #partEnds: PartEnd[] = []
  #rowsInPart = 0

  constructor(tables: readonly Table<object>[], rowsPerPart = ROWS_PER_PART) {
    this.#tables = tables
    this.#rowsPerPart = rowsPerPart
  }

  /** Records that a commit wrote this number of rows. */
  noteCommit(index: number, rows: number): void {
    this.#rowsInPart += rows
    if (this.#rowsInPart < this.#rowsPerPart) return
    this.#partEnds.push(this.#endAt(index, (table) => table.writtenCount))
    this.#rowsInPart = 0
  }

  /**
   * Returns the parts of a checkpoint that starts now and reaches `upTo`, where the last part ends.
   */
  takeParts(checkpointIndex: number): CheckpointPart[] {
    const earlierEnds = this.#partEnds.filter((end) => end.index < checkpointIndex)
    const ends = [...earlierEnds, this.#endAt(checkpointIndex, () => Number.POSITIVE_INFINITY)]
    this.#partEnds = []
    this.#rowsInPart = 0
    return ends.map((end, i) => ({
      checkpointIndex: end.index,
      rows: this.#rows(ends[i - 1], end),
    }))
  }

  /**
   * Discards the recorded part ends after a failed checkpoint: its rows are dirty again after those
   * written since, so the recorded counts are wrong.
   */
  reset(): void {
    this.#partEnds = []
    this.#rowsInPart = 0
  }

  #endAt(index: number, count: (table: Table<object>) => number): PartEnd {
    return { index, counts: this.#tables.map(count) }
  }

  *#rows(begin: PartEnd | undefined, end: PartEnd): Generator<CheckpointRow> {
    for (const [i, table] of this.#tables.entries()) {
      const range = { from: begin?.counts[i] ?? 0, to: end.counts[i] ?? 0 }
      const part = { ...range, hasDeleted: begin === undefined }
      for (const [key, text] of table.checkpointRows(part))
        yield { table: table.spec.name, key, text }
    }
  }
}
