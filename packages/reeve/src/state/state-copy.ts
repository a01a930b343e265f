import { encodeCommit } from './codec.ts'
import type { CommittedRow } from './commit.ts'
import type { BlobChange, AppendEntry } from './engine.ts'
import { UNSPLIT } from './row-text.ts'
import type { Store } from './store.ts'
import type { RowIndexes } from './stored-row.ts'
import type { Table } from './table.ts'

/** All rows at one index, and the keys of their blobs. */
export interface StateSnapshot {
  readonly index: number
  readonly rows: readonly SnapshotRow[]
  readonly blobKeys: ReadonlySet<string>
}

export interface SnapshotRow {
  readonly table: string
  readonly key: string
  readonly indexes: RowIndexes
  readonly body: string
}

/**
 * Takes a snapshot of the current state. It shares the row texts with the tables, so it costs one
 * list entry per row. It may contain commits that are not durable yet: await `settled` before
 * sending it to anyone.
 */
export function takeSnapshot({ tables, index }: Store): StateSnapshot {
  const rows: SnapshotRow[] = []
  const blobKeys = new Set<string>()
  // Rows are copied as JSON, so the row types do not matter.
  for (const table of Object.values(tables) as unknown as Table<object>[]) {
    const { name, blobIndex } = table.spec
    for (const key of table.keys()) {
      const indexes = [table.createIndexOf(key) ?? 0, table.modifyIndexOf(key) ?? 0] as const
      rows.push({ table: name, key, indexes, body: table.rowJsonOf(key) ?? 'null' })
      const blob = blobIndex === undefined ? undefined : table.indexKeyOf(blobIndex, key)
      if (blob !== undefined) blobKeys.add(blob)
    }
  }
  return { index, rows, blobKeys }
}

interface SnapshotPart {
  readonly rows: readonly SnapshotRow[]
  readonly blobs: readonly BlobChange[]
}

/** Log entry that writes rows and blobs of a snapshot. */
export function snapshotEntry(
  { rows, blobs }: SnapshotPart,
  stamp: { readonly index: number; readonly timeMs: number },
): AppendEntry {
  const committed = rows.map(({ table, key, indexes, body }): CommittedRow => ({
    table,
    key,
    header: indexes,
    text: { ...UNSPLIT, body },
  }))
  return { ...stamp, text: encodeCommit({ ...stamp, rows: committed, events: [] }), blobs }
}
