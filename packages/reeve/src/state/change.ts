import type { Row, TableName } from './tables.ts'

/** A row to write, or a key to delete. Made by `put` and `remove`. */
export type Change =
  | { [N in TableName]: { readonly table: N; readonly row: Row<N> } }[TableName]
  | { readonly table: TableName; readonly row: undefined; readonly key: string }

export function put<N extends TableName>(table: N, row: Row<N>): Change {
  // One of the pairs above, for whichever N it is.
  return { table, row } as Change
}

export function remove(table: TableName, key: string): Change {
  return { table, key, row: undefined }
}

/** The index and time a commit will carry; rows that show them are built from it. */
export interface Stamp {
  readonly index: number
  readonly timeMs: number
}

/** What a commit is about, where its rows do not say it: for the audit record. */
export interface CommitSubject {
  /** Null for what belongs to no organization. */
  readonly organizationId: string | null
  /** Ids of what was written. */
  readonly subjects: readonly string[]
}

export function isDelete({ row }: Change): boolean {
  return row === undefined
}
