import { encodeCommit } from './commit-codec.ts'
import type { Commit, CommittedRow, RowIndexes } from './commit.ts'
import type { BlobChange, AppendEntry } from './engine.ts'
import { remove, type Change } from './change.ts'
import { createTables, type TableName } from './schema/tables.ts'
import { UNSPLIT } from './table/row-json.ts'
import type { Store } from './store.ts'
import type { Table } from './table/table.ts'

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

/** A validated snapshot, as `restoreChanges` needs it. */
export interface RestoredState {
  readonly rows: readonly SnapshotRow[]
  readonly blobs: ReadonlyMap<string, Uint8Array>
}

/** Tables whose rows a restore never deletes, because they record what happened since. */
const KEPT_TABLES: ReadonlySet<string> = new Set(['audit_records', 'node_revocations', 'settings'])

/**
 * Changes that turn the current state into that of a snapshot. Rows that are equal already are left
 * out. Settings that the snapshot does not have are kept.
 */
export function restoreChanges(
  { tables }: Store,
  { rows }: Pick<RestoredState, 'rows'>,
): readonly Change[] {
  const changes: Change[] = []
  const restoredKeys = new Map<string, Set<string>>()
  // The rows were validated against their tables, whose types do not matter for copies of rows.
  const tablesByName = tables as unknown as Readonly<Record<string, Table<object>>>
  for (const { table: name, key, indexes, body } of rows) {
    const keys = restoredKeys.get(name) ?? new Set()
    restoredKeys.set(name, keys.add(key))
    const table = tablesByName[name]
    const isEqual =
      table?.rowJsonOf(key) === body &&
      table.createIndexOf(key) === indexes[0] &&
      table.modifyIndexOf(key) === indexes[1]
    // Proof: the row was validated by SnapshotChecker for the table of this name.
    if (!isEqual) changes.push({ table: name, row: JSON.parse(body), indexes } as Change)
  }
  for (const [name, table] of Object.entries(tablesByName)) {
    if (KEPT_TABLES.has(name)) continue
    const keys = restoredKeys.get(name)
    for (const key of table.keys())
      // Proof: the keys of `tables` are the table names.
      if (keys?.has(key) !== true) changes.push(remove(name as TableName, key))
  }
  return changes
}

/** Blobs of a snapshot, and deletions of the current blobs that it does not have. */
export function restoreBlobs(
  { blobKeys }: Pick<StateSnapshot, 'blobKeys'>,
  { blobs }: Pick<RestoredState, 'blobs'>,
): readonly BlobChange[] {
  const stale = [...blobKeys].filter((key) => !blobs.has(key))
  return [
    ...[...blobs].map(([key, bytes]) => ({ key, bytes })),
    ...stale.map((key) => ({ key, bytes: undefined })),
  ]
}

/**
 * Whether the commit restored a snapshot: rows may then have changed in any way, also back to older
 * indexes.
 */
export function isRestore({ rows }: Commit): boolean {
  return rows.some(({ table, key }) => table === 'settings' && key === 'last-restore')
}

/** A decoded row of a snapshot. None of its content is trusted. */
interface UntrustedRow {
  readonly table: string
  readonly key: string
  readonly indexes: RowIndexes
  readonly row: object
}

/**
 * Checks the rows of a snapshot for content that a store could not load or would store under
 * another key. Remembers all keys seen, which needs less memory than the store built from them.
 */
export class SnapshotChecker {
  // Rows arrive untyped; the specs handle the differences between tables.
  readonly #tables = new Map(
    Object.entries(createTables() as unknown as Readonly<Record<string, Table<object>>>),
  )
  readonly #seen = new Map<string, Set<string>>()
  readonly #snapshotIndex: number

  /** `upTo` is the index of the snapshot. */
  constructor(upTo: number) {
    this.#snapshotIndex = upTo
  }

  /** Returns the problem of a row; undefined if it is valid. */
  findProblem({ table, key, indexes, row }: UntrustedRow): string | undefined {
    const spec = this.#tables.get(table)?.spec
    if (spec === undefined) return `there is no table ${JSON.stringify(table)}`
    const isIndex = (value: number): boolean =>
      Number.isSafeInteger(value) && value >= 0 && value <= this.#snapshotIndex
    if (!indexes.every(isIndex))
      return `its indexes ${indexes.join(' and ')} are not between 0 and the snapshot's ${this.#snapshotIndex}`
    const expectedKey = tryRead(() => spec.key(row))
    if (expectedKey !== key)
      return `its key is not the one of its content, ${JSON.stringify(expectedKey ?? null)}`
    for (const [name, indexKeyOf] of Object.entries(spec.indexes)) {
      const value = tryRead(() => indexKeyOf(row) ?? '')
      if (typeof value !== 'string') return `its content has no valid ${name}`
    }
    return this.#addSeen(table, key) ? undefined : 'the row is there twice'
  }

  #addSeen(table: string, key: string): boolean {
    const seen = this.#seen.get(table) ?? new Set()
    this.#seen.set(table, seen)
    const { size } = seen
    return seen.add(key).size > size
  }
}

/** Undefined if the function throws because a field of the untrusted row is missing. */
function tryRead<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (thrown) {
    if (thrown instanceof TypeError || thrown instanceof RangeError) return undefined
    throw thrown
  }
}
