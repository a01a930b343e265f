import type { Job } from '@reeve/contract'
import { isLaunchedByTime, jobWarnings, nextLaunchMs } from '../../model/index.ts'
import type { WorkloadContext } from '../context.ts'

/** Returns the current warnings of a valid job. */
export function warningsNow(
  { clock, offsetAt }: Pick<WorkloadContext, 'clock' | 'offsetAt'>,
  job: Job,
): readonly string[] {
  const warnings = jobWarnings(job)
  if (job.Periodic === null || !isLaunchedByTime(job)) return warnings
  const launchMs = nextLaunchMs(job.Periodic, clock.nowMs(), offsetAt)
  return launchMs === undefined ? [...warnings, NEVER_LAUNCHED] : warnings
}

const NEVER_LAUNCHED = 'Periodic: no time to come fits the schedule, so nothing will be launched'
