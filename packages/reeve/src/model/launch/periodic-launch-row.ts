import type { Job } from '@reeve/contract'
import { msFromNs, nsFromMs } from '@reeve/kit/duration.ts'
import { isEqual } from '../deep-equal.ts'
import { isParameterized } from '../job/job-change.ts'

/**
 * How far the schedule of a periodic job has been carried out. There is one for each job that is
 * launched by time and none for any other, so whoever launches needs to look at nothing else.
 */
export interface PeriodicLaunchRow {
  readonly Namespace: string
  readonly ID: string
  /**
   * The latest time of the schedule that was dealt with: launched, or passed over because of an
   * earlier instance. At first, when the schedule began to apply. Nanoseconds.
   */
  readonly Done: number
  readonly CreateIndex: number
  readonly ModifyIndex: number
}

/**
 * Whether instances of the job are launched by time. One that is stopped, disabled or waits for its
 * dispatch is not.
 */
export function isLaunchedByTime(job: Job): boolean {
  return job.Periodic !== null && job.Periodic.Enabled && !job.Stop && !isParameterized(job)
}

/**
 * What a new version of a job means for its record: another one, the one it has (`keep`), or none
 * any more. A schedule that stays keeps its record, so that no launch is lost to an update; one
 * that is new or other begins now.
 */
export function launchRecord(
  before: Job | undefined,
  after: Job,
  nowMs: number,
): PeriodicLaunchRow | 'keep' | undefined {
  if (!isLaunchedByTime(after)) return undefined
  const applied = before !== undefined && isLaunchedByTime(before)
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

export function doneMsOf(row: PeriodicLaunchRow): number {
  return msFromNs(row.Done)
}
