import type { Fault } from '@reeve/kit/fault.ts'
import type { Commit, RowIndexes } from './commit.ts'
import type { AppendEntry } from './engine.ts'
import type { Undo } from './table/table.ts'
import type { Row, TableName } from './schema/tables.ts'

/** A row to write or a key to delete; created by `put` and `remove`. */
export type Change =
  | {
      [N in TableName]: {
        readonly table: N
        readonly row: Row<N>
        /** Indexes of a row of a snapshot; other rows get those of the commit. */
        readonly indexes?: RowIndexes
      }
    }[TableName]
  | { readonly table: TableName; readonly row: undefined; readonly key: string }

export function put<N extends TableName>(table: N, row: Row<N>): Change {
  // One of the pairs above, whichever N is.
  return { table, row } as Change
}

export function remove(table: TableName, key: string): Change {
  return { table, key, row: undefined }
}

/** Index and time of the commit; rows that contain them are built from the stamp. */
export interface Stamp {
  readonly index: number
  readonly timeMs: number
}

/** Organization and resource IDs for the audit record, if they cannot be derived from the rows. */
export interface AuditSubject {
  /** Null if the resource belongs to no organization. */
  readonly organizationId: string | null
  /** IDs of the written resources. */
  readonly resourceIds: readonly string[]
}

export function isDelete({ row }: Change): boolean {
  return row === undefined
}

/** Commits that become durable with one write. */
export interface Batch {
  readonly entries: AppendEntry[]
  readonly commits: Commit[]
  readonly undo: Undo[]
  readonly done: Promise<void>
  readonly settle: (fault?: Fault) => void
}

export function newBatch(): Batch {
  let settle: (fault?: Fault) => void = () => undefined
  const done = new Promise<void>((resolve, reject) => {
    settle = (fault) => (fault === undefined ? resolve() : reject(fault))
  })
  // Waiting readers handle the rejection. Without readers, an unhandled rejection would end the
  // process.
  done.catch(() => undefined)
  return { entries: [], commits: [], undo: [], done, settle }
}
