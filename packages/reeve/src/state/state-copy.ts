import { encodeCommit } from './codec.ts'
import type { CommittedRow } from './commit.ts'
import type { BlobChange, NewLogEntry } from './engine.ts'
import { IN_ONE } from './row-text.ts'
import type { Store } from './store.ts'
import type { RowIndexes } from './stored-row.ts'
import type { Table } from './table.ts'

/** Every row at one index, and the keys of the blobs that belong to them. */
export interface StateCopy {
  readonly index: number
  readonly rows: readonly CopiedRow[]
  readonly blobKeys: ReadonlySet<string>
}

export interface CopiedRow {
  readonly table: string
  readonly key: string
  readonly indexes: RowIndexes
  readonly body: string
}

/**
 * The state of this moment. The texts are shared with the tables, so that a copy costs a place in a
 * list for each row. It may hold what is not durable yet: whoever tells it awaits `settled` first.
 */
export function copyState({ tables, index }: Store): StateCopy {
  const rows: CopiedRow[] = []
  const blobKeys = new Set<string>()
  // Rows leave as texts: what differs between the tables is not looked at.
  for (const table of Object.values(tables) as unknown as Table<object>[]) {
    const { name, blobGroup } = table.spec
    for (const key of table.keys()) {
      const indexes = [table.createIndexOf(key) ?? 0, table.modifyIndexOf(key) ?? 0] as const
      rows.push({ table: name, key, indexes, body: table.bodyOf(key) ?? 'null' })
      const blob = blobGroup === undefined ? undefined : table.groupOf(blobGroup, key)
      if (blob !== undefined) blobKeys.add(blob)
    }
  }
  return { index, rows, blobKeys }
}

interface CopiedPart {
  readonly rows: readonly CopiedRow[]
  readonly blobs: readonly BlobChange[]
}

/** The entry that brings rows and blobs of a copy. */
export function copiedEntry(
  { rows, blobs }: CopiedPart,
  stamp: { readonly index: number; readonly timeMs: number },
): NewLogEntry {
  const committed = rows.map(({ table, key, indexes, body }): CommittedRow => ({
    table,
    key,
    header: indexes,
    text: { ...IN_ONE, body },
  }))
  return { ...stamp, text: encodeCommit({ ...stamp, rows: committed, events: [] }), blobs }
}
