import type { RowText } from './row-text.ts'
import type { RowIndexes } from './stored-row.ts'

/**
 * One durable change: rows and the events they cause. Applying the log again gives the same state.
 */
export interface Commit {
  readonly index: number
  readonly timeMs: number
  readonly rows: readonly CommittedRow[]
  readonly events: readonly EventMark[]
}

export interface CommittedRow {
  readonly table: string
  readonly key: string
  /** Undefined: the row was deleted. */
  readonly header: RowIndexes | undefined
  /**
   * The row's text; of a deleted row, its last one, because events show the object before deletion.
   */
  readonly text: RowText
  /** Known to the store that has applied it; it is not written down. */
  readonly namespace?: string | undefined
}

/** An event without its payload, which is made from the row it points at. */
export interface EventMark {
  readonly Topic: string
  readonly Type: string
  readonly Key: string
  readonly Namespace: string
  readonly FilterKeys: readonly string[] | null
  /** Position in the commit's rows. */
  readonly row: number
}
