import type { Job } from '@reeve/contract'
import { compareText } from '@reeve/kit/sorted-list.ts'
import {
  allocationIndex,
  isClientTerminal,
  isServerTerminal,
  type AllocationRow,
} from '../../model/index.ts'

/** By index, then by age, then by ID: a total order. Each name is read once. */
export function sortByName(rows: readonly AllocationRow[]): readonly AllocationRow[] {
  return rows
    .map((row) => ({ row, index: indexOf(row) }))
    .toSorted(
      (a, b) =>
        a.index - b.index ||
        a.row.CreateIndex - b.row.CreateIndex ||
        compareText(a.row.ID, b.row.ID),
    )
    .map(({ row }) => row)
}

/** The rows of each group, in whatever order they came. */
export function rowsByGroup(
  rows: readonly AllocationRow[],
): ReadonlyMap<string, readonly AllocationRow[]> {
  const groups = new Map<string, AllocationRow[]>()
  for (const row of rows) {
    const known = groups.get(row.TaskGroup)
    if (known === undefined) groups.set(row.TaskGroup, [row])
    else known.push(row)
  }
  return groups
}

export function indexOf(row: AllocationRow): number {
  return allocationIndex(row.Name)
}

/**
 * Of an earlier version, or of a job of the same ID that was purged before this one was registered.
 */
export function isOlder(row: AllocationRow, job: Job): boolean {
  return row.CreateIndex < job.CreateIndex || row.JobVersion < job.Version
}

/** Of this version, and ended though nobody told it to. */
export function endedByItself(row: AllocationRow, job: Job): boolean {
  return isClientTerminal(row) && !isServerTerminal(row) && !isOlder(row, job)
}

export function isReplaced(row: AllocationRow): boolean {
  return row.NextAllocation !== undefined && row.NextAllocation !== ''
}
