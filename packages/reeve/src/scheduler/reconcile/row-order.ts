import type { Job } from '@reeve/contract'
import { compareText } from '@reeve/kit/sorted-list.ts'
import {
  allocationIndex,
  isClientTerminal,
  isServerTerminal,
  type AllocationRow,
} from '../../model/index.ts'

/** Sorts by name index, create index and ID: a total order. */
export function sortByNameIndex(rows: readonly AllocationRow[]): readonly AllocationRow[] {
  return rows
    .map((row) => ({ row, index: nameIndexOf(row) }))
    .toSorted(
      (a, b) =>
        a.index - b.index ||
        a.row.CreateIndex - b.row.CreateIndex ||
        compareText(a.row.ID, b.row.ID),
    )
    .map(({ row }) => row)
}

/** Groups rows by task group, keeping their order. */
export function rowsByGroup(
  rows: readonly AllocationRow[],
): ReadonlyMap<string, readonly AllocationRow[]> {
  const groups = new Map<string, AllocationRow[]>()
  for (const row of rows) {
    const group = groups.get(row.TaskGroup)
    if (group === undefined) groups.set(row.TaskGroup, [row])
    else group.push(row)
  }
  return groups
}

export function nameIndexOf(row: AllocationRow): number {
  return allocationIndex(row.Name)
}

/** True for allocations of an earlier version, or of an earlier job with the same ID. */
export function isFromOlderVersion(row: AllocationRow, job: Job): boolean {
  return row.CreateIndex < job.CreateIndex || row.JobVersion < job.Version
}

/** True for allocations of the current version that terminated without being stopped. */
export function exitedUnasked(row: AllocationRow, job: Job): boolean {
  return isClientTerminal(row) && !isServerTerminal(row) && !isFromOlderVersion(row, job)
}

export function isReplaced(row: AllocationRow): boolean {
  return row.NextAllocation !== undefined && row.NextAllocation !== ''
}
