import type { RowJson } from './row-text.ts'
import type { RowIndexes } from './stored-row.ts'

/** One durable change: rows and the events they cause. Replaying the log yields the same state. */
export interface Commit {
  readonly index: number
  readonly timeMs: number
  readonly rows: readonly CommittedRow[]
  readonly events: readonly EventRef[]
}

export interface CommittedRow {
  readonly table: string
  readonly key: string
  /** Undefined if the row was deleted. */
  readonly header: RowIndexes | undefined
  /**
   * JSON of the row; for a deleted row, its last value, because events contain the deleted object.
   */
  readonly text: RowJson
  /** Set by the store when it applies the row; not persisted. */
  readonly namespace?: string | undefined
}

/** An event without its payload, which is built from the row it refers to. */
export interface EventRef {
  readonly Topic: string
  readonly Type: string
  readonly Key: string
  readonly Namespace: string
  readonly FilterKeys: readonly string[] | null
  /** Position in the commit's rows. */
  readonly row: number
}
