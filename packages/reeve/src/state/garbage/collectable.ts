import type { Job } from '@reeve/contract'
import { msFromNs } from '@reeve/kit/duration.ts'
import { isTerminal, type AllocationRow } from '../../model/index.ts'
import type { Round } from './round.ts'

/**
 * Whether nobody needs an allocation any more. One that failed and may still be placed again is
 * kept: its record is what the next one is made from.
 */
export function isCollectable(
  row: AllocationRow,
  job: Job | undefined,
  { tables, nowMs, ageMs }: Pick<Round, 'tables' | 'nowMs'> & { readonly ageMs: number },
): boolean {
  if (!isTerminal(row)) return false
  // Should stop, and has not said so. Of a node that is forgotten nobody will ever say it.
  const mayRun = row.ClientStatus === 'running' || row.ClientStatus === 'unknown'
  if (mayRun && tables.nodes.has(row.NodeID)) return false
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
