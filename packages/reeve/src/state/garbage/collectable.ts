import type { Job } from '@reeve/contract'
import { msFromNs } from '@reeve/kit/duration.ts'
import { isTerminal, type AllocationRow } from '../../model/index.ts'
import type { GcContext } from './round.ts'

/**
 * True if an allocation may be deleted. A failed allocation that may still be rescheduled is kept,
 * because its replacement is built from its record.
 */
export function isCollectable(
  row: AllocationRow,
  job: Job | undefined,
  { tables, nowMs, ageMs }: Pick<GcContext, 'tables' | 'nowMs'> & { readonly ageMs: number },
): boolean {
  if (!isTerminal(row)) return false
  // It should stop and its node has not confirmed that. If the node was purged, no confirmation
  // will ever come.
  const mayRun = row.ClientStatus === 'running' || row.ClientStatus === 'unknown'
  if (mayRun && tables.nodes.has(row.NodeID)) return false
  if (msFromNs(row.ModifyTime) > nowMs - ageMs) return false
  return !mayBeRescheduled(row, job, nowMs)
}

/** Whether a failed allocation may still be replaced by its reschedule policy. */
export function mayBeRescheduled(row: AllocationRow, job: Job | undefined, nowMs: number): boolean {
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

/** True for an earlier version, or for a job of the same ID that was purged before. */
export function isOfOlderVersion(row: AllocationRow, job: Job): boolean {
  return row.CreateIndex < job.CreateIndex || row.JobVersion < job.Version
}
