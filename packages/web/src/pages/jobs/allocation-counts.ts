import type {
  ClientStatus,
  Job,
  JobStatusAllocation,
  JobStatusRow,
  TaskGroupSummary,
} from '@reeve/contract'
import { isParent } from '../../actions/job-can.ts'

/** In the order in which bars and legends show them. */
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

/** Of a row that lists the allocations, or only counts them. */
export function countsOf({
  Allocs,
  AllocCounts,
}: Pick<JobStatusRow, 'Allocs' | 'AllocCounts'>): AllocationCounts {
  return AllocCounts === undefined ? countAllocations(Allocs) : countsOfSummary(AllocCounts)
}

/** The same counts, where the allocations are too many to list. */
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

/** Lists of more allocations than this are megabytes, and nobody looks at single ones there. */
export const LISTED_MAX = 2_000

/** Whether a job is shown by its counts alone. */
export function isLarge({ TaskGroups }: Pick<Job, 'TaskGroups'>): boolean {
  return TaskGroups.reduce((sum, { Count }) => sum + Count, 0) > LISTED_MAX
}

/** Whether the overview lists the allocations of a job. */
export function isListed(job: Job): boolean {
  return !isParent(job) && !isLarge(job)
}

export function totalOf(counts: AllocationCounts): number {
  return SHOWN_STATUSES.reduce((sum, status) => sum + counts[status], 0)
}

/** The numbers in words; `missing` are those that are wanted and have no place. */
export function countsText(counts: AllocationCounts, missing: number): string {
  const shown = SHOWN_STATUSES.filter((status) => counts[status] > 0)
  const words = shown.map((status) => `${counts[status]} ${status}`)
  return [...words, ...(missing > 0 ? [`${missing} unplaced`] : [])].join(', ')
}

/** What has ended of a service was replaced: it says how often, not how the job is. */
export function presentCounts(
  { Type, Stop, Status }: Pick<Job, 'Type' | 'Stop' | 'Status'>,
  counts: AllocationCounts,
): AllocationCounts {
  const isEndless = Type === 'service' || Type === 'system'
  return isEndless && !Stop && Status !== 'dead' ? { ...counts, complete: 0 } : counts
}
