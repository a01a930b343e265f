import type { CheckpointRow } from './engine.ts'
import type { Table } from './table.ts'

/**
 * Rows written between two marks of a checkpoint. Each mark costs the embedded engine a handful of
 * syncs, and a crash costs the replay of what is behind the last mark: some hundred milliseconds.
 */
const ROWS_PER_PART = 25_000

/** Where one part of the next checkpoint ends. */
interface PartEnd {
  readonly upTo: number
  /** For each table, how many of its dirty rows were first written up to then. */
  readonly counts: readonly number[]
}

/** Rows that a checkpoint writes, and the index to which it reaches when they are durable. */
export interface CheckpointPart {
  readonly upTo: number
  readonly rows: Iterable<CheckpointRow>
}

/**
 * Divides the dirty rows of all tables by the commits that first wrote them, so that a checkpoint
 * advances its mark while it is written. A row may hold a later value than the mark of its part:
 * the commits behind the mark are applied again at a start, and end in the same value.
 */
export class CheckpointParts {
  readonly #tables: readonly Table<object>[]
  readonly #rowsPerPart: number
  #ends: PartEnd[] = []
  #rowsSince = 0

  constructor(tables: readonly Table<object>[], rowsPerPart = ROWS_PER_PART) {
    this.#tables = tables
    this.#rowsPerPart = rowsPerPart
  }

  /** A commit was applied that wrote so many rows. */
  note(index: number, rows: number): void {
    this.#rowsSince += rows
    if (this.#rowsSince < this.#rowsPerPart) return
    this.#ends.push(this.#endAt(index, (table) => table.writtenCount))
    this.#rowsSince = 0
  }

  /** The parts of a checkpoint that begins now and reaches to `upTo`; the last one ends there. */
  take(upTo: number): CheckpointPart[] {
    const before = this.#ends.filter((end) => end.upTo < upTo)
    const ends = [...before, this.#endAt(upTo, () => Number.POSITIVE_INFINITY)]
    this.#ends = []
    this.#rowsSince = 0
    return ends.map((end, i) => ({ upTo: end.upTo, rows: this.#rows(ends[i - 1], end) }))
  }

  /**
   * A checkpoint failed: its rows are dirty again, behind those that were written meanwhile, and
   * ends that were noted meanwhile do not count them.
   */
  forgetEnds(): void {
    this.#ends = []
    this.#rowsSince = 0
  }

  #endAt(upTo: number, count: (table: Table<object>) => number): PartEnd {
    return { upTo, counts: this.#tables.map(count) }
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
