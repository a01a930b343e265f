import type { Job } from '@reeve/contract'
import { msFromNs, nsFromMs } from '@reeve/kit/duration.ts'
import { isEqual } from '../deep-equal.ts'
import { isParameterized } from '../job/job-change.ts'

/**
 * Progress of a periodic job's schedule. Only active periodic jobs have one, so that the launcher
 * reads nothing else.
 */
export interface PeriodicLaunchRow {
  readonly Namespace: string
  readonly ID: string
  /**
   * The latest scheduled time that was processed: launched, or skipped because of an overlapping
   * instance. Initially the time from which the schedule applies. Nanoseconds.
   */
  readonly Done: number
  readonly CreateIndex: number
  readonly ModifyIndex: number
}

/**
 * Reports whether the schedule of the job is active. It is not for a job that is stopped, disabled
 * or parameterized.
 */
export function isActivePeriodic(job: Job): boolean {
  return job.Periodic !== null && job.Periodic.Enabled && !job.Stop && !isParameterized(job)
}

/**
 * Returns the record of a new version: a new one, the existing one (`keep`), or none. An unchanged
 * schedule keeps its record, so that no launch is lost by an update; a changed one starts now.
 */
export function launchRecordAfterUpdate(
  before: Job | undefined,
  after: Job,
  nowMs: number,
): PeriodicLaunchRow | 'keep' | undefined {
  if (!isActivePeriodic(after)) return undefined
  const applied = before !== undefined && isActivePeriodic(before)
  if (applied && isEqual(before.Periodic, after.Periodic)) return 'keep'
  return launchRecordAt(after, nowMs)
}

export function launchRecordAt(
  job: { readonly Namespace: string; readonly ID: string },
  doneMs: number,
): PeriodicLaunchRow {
  const { Namespace, ID } = job
  return { Namespace, ID, Done: nsFromMs(doneMs), CreateIndex: 0, ModifyIndex: 0 }
}

export function lastLaunchMs(row: PeriodicLaunchRow): number {
  return msFromNs(row.Done)
}
