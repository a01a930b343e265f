import type { Job } from '@reeve/contract'
import { msFromNs } from '../../kit/duration.ts'
import { isTerminal, type AllocationRow } from '../../model/index.ts'

/**
 * Whether nobody needs an allocation any more (scheduling reference §20). One that failed and may
 * still be placed again is kept: its record is what the next one is made from.
 */
export function isCollectable(
  row: AllocationRow,
  job: Job | undefined,
  { nowMs, ageMs }: { readonly nowMs: number; readonly ageMs: number },
): boolean {
  if (!isTerminal(row) || row.ClientStatus === 'running' || row.ClientStatus === 'unknown')
    return false
  if (msFromNs(row.ModifyTime) > nowMs - ageMs) return false
  return !mayRunAgain(row, job, nowMs)
}

/** Whether a failed allocation may still be replaced by its reschedule policy. */
export function mayRunAgain(row: AllocationRow, job: Job | undefined, nowMs: number): boolean {
  if (job === undefined || job.Stop || job.Status === 'dead') return false
  if (row.DesiredStatus === 'stop' || row.ClientStatus !== 'failed') return false
  if ((row.NextAllocation ?? '') !== '') return false
  const policy = job.TaskGroups.find((group) => group.Name === row.TaskGroup)?.ReschedulePolicy
  if (policy === undefined || policy === null) return false
  if (policy.Unlimited) return true
  if (policy.Attempts <= 0) return false
  const last = row.RescheduleTracker?.Events?.at(-1)
  return last === undefined || msFromNs(last.RescheduleTime) > nowMs - msFromNs(policy.Interval)
}

/** Of a version before the current one, or of a job that was purged before it was registered. */
export function isOfOlderVersion(row: AllocationRow, job: Job): boolean {
  return row.CreateIndex < job.CreateIndex || row.JobVersion < job.Version
}
