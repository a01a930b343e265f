import type { ClientStatus, JobStatusAllocation, JobStatusRow } from '@reeve/contract'

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

type Row = Pick<
  JobStatusRow,
  'Stop' | 'Status' | 'Type' | 'GroupCountSum' | 'Allocs' | 'ChildStatuses'
>

/** One word for how a job is: what its allocations make of its status. */
export function healthOf(job: Row): string {
  if (job.Stop) return 'stopped'
  const isCounted = job.Type === 'service' && job.ChildStatuses === null
  if (job.Status !== 'running' || !isCounted) return job.Status
  return countAllocations(job.Allocs).running < job.GroupCountSum ? 'degraded' : job.Status
}
