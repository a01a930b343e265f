import type {
  ClientStatus,
  Job,
  JobStatusAllocation,
  JobStatusRow,
  TaskGroupSummary,
} from '@reeve/contract'
import { isParent } from '../../permissions/job.ts'

/** Statuses in the order of bars and legends. */
export const SHOWN_STATUSES = [
  'running',
  'pending',
  'unknown',
  'failed',
  'lost',
  'complete',
] as const satisfies readonly ClientStatus[]

export type AllocationCounts = Readonly<Record<ClientStatus, number>>

export function countAllocations(
  allocations: readonly Pick<JobStatusAllocation, 'ClientStatus'>[],
): AllocationCounts {
  const counts = { running: 0, pending: 0, unknown: 0, failed: 0, lost: 0, complete: 0 }
  for (const { ClientStatus } of allocations) counts[ClientStatus] += 1
  return counts
}

/** Returns the counts of a row, which lists its allocations or only counts them. */
export function countsOfRow({
  Allocs,
  AllocCounts,
}: Pick<JobStatusRow, 'Allocs' | 'AllocCounts'>): AllocationCounts {
  return AllocCounts === undefined ? countAllocations(Allocs) : countsOfSummary(AllocCounts)
}

/** Converts the counts of a summary, which large jobs have instead of a list. */
export function countsOfSummary(summary: TaskGroupSummary | undefined): AllocationCounts {
  return {
    running: summary?.Running ?? 0,
    pending: summary?.Starting ?? 0,
    unknown: summary?.Unknown ?? 0,
    failed: summary?.Failed ?? 0,
    lost: summary?.Lost ?? 0,
    complete: summary?.Complete ?? 0,
  }
}

/** Allocations of larger jobs are only counted: a list would have megabytes. */
export const LISTED_MAX = 2_000

/** Reports whether a job has too many allocations to list them. */
export function isTooLargeToList({ TaskGroups }: Pick<Job, 'TaskGroups'>): boolean {
  return TaskGroups.reduce((sum, { Count }) => sum + Count, 0) > LISTED_MAX
}

/** Reports whether the overview lists the allocations of the job. */
export function hasAllocationList(job: Job): boolean {
  return !isParent(job) && !isTooLargeToList(job)
}

export function totalCount(counts: AllocationCounts): number {
  return SHOWN_STATUSES.reduce((sum, status) => sum + counts[status], 0)
}

/** Formats the counts; `unplaced` is the number of missing allocations. */
export function countsText(counts: AllocationCounts, unplaced: number): string {
  const shown = SHOWN_STATUSES.filter((status) => counts[status] > 0)
  const parts = shown.map((status) => `${counts[status]} ${status}`)
  return [...parts, ...(unplaced > 0 ? [`${unplaced} unplaced`] : [])].join(', ')
}

/** Omits completed allocations of running services: they were replaced. */
export function currentCounts(
  { Type, Stop, Status }: Pick<Job, 'Type' | 'Stop' | 'Status'>,
  counts: AllocationCounts,
): AllocationCounts {
  const isLongRunning = Type === 'service' || Type === 'system'
  return isLongRunning && !Stop && Status !== 'dead' ? { ...counts, complete: 0 } : counts
}
