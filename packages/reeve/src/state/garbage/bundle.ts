import type { GcContext } from './round.ts'

/** A row that is deleted together with others. */
export interface GcRow {
  readonly table: 'allocations' | 'evaluations' | 'deployments'
  readonly id: string
}

/** Rows that are deleted all or none, with the progress of the collection. */
export interface AtomicRows {
  readonly rows: readonly GcRow[]
  /** Number of rows checked so far; all of them may be deleted. */
  readonly checked: number
  readonly removed: number
}

export function newAtomicRows(members: readonly GcRow[]): AtomicRows {
  return { rows: members, checked: 0, removed: 0 }
}

/**
 * `done`: all rows were deleted. `needed`: at least one row is in use, so none is deleted.
 * Otherwise a later batch continues from here.
 */
export type GcProgress = 'done' | 'needed' | AtomicRows

/**
 * Checks every row first and deletes them only if none is needed. A large set takes several batches
 * for each phase; rows that have ended do not become active again meanwhile.
 */
export function collectAllOrNothing(
  { slice }: GcContext,
  rows: AtomicRows,
  isNeeded: (member: GcRow) => boolean,
): GcProgress {
  const { rows: allRows } = rows
  let { checked, removed } = rows
  for (const member of allRows.slice(checked)) {
    if (!slice.hasBudget) return { rows: allRows, checked, removed }
    slice.chargeDecode()
    if (isNeeded(member)) return 'needed'
    checked += 1
  }
  for (const member of allRows.slice(removed)) {
    if (!slice.hasBudget) return { rows: allRows, checked, removed }
    slice.remove(member.table, member.id)
    removed += 1
  }
  return 'done'
}

/** Deletes each collectable row independently of the others. */
export function collectEach(
  { slice }: GcContext,
  rows: AtomicRows,
  mayGo: (member: GcRow) => boolean,
): GcProgress {
  let { checked } = rows
  for (const member of rows.rows.slice(checked)) {
    if (!slice.hasBudget) return { ...rows, checked }
    slice.chargeDecode()
    if (mayGo(member)) slice.remove(member.table, member.id)
    checked += 1
  }
  return 'done'
}
