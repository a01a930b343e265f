import type { Job } from '@reeve/contract'
import { isActivePeriodic, jobWarnings, nextLaunchMs } from '../../model/index.ts'
import type { WorkloadContext } from '../context.ts'

/** Returns the current warnings of a valid job. */
export function registrationWarnings(
  { clock, utcOffsetAt }: Pick<WorkloadContext, 'clock' | 'utcOffsetAt'>,
  job: Job,
): readonly string[] {
  const warnings = jobWarnings(job)
  if (job.Periodic === null || !isActivePeriodic(job)) return warnings
  const launchMs = nextLaunchMs(job.Periodic, clock.nowMs(), utcOffsetAt)
  return launchMs === undefined ? [...warnings, NEVER_LAUNCHED] : warnings
}

const NEVER_LAUNCHED = 'Periodic: no time to come fits the schedule, so nothing will be launched'
