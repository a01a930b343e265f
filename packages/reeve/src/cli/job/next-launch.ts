import type { Job } from '@reeve/contract'
import { createTimeZoneOffset } from '@reeve/kit/time-zone.ts'
import { isActivePeriodic, nextLaunchMs } from '../../model/index.ts'
import { dateFromMs, formatAge } from '../output/time.ts'

/** Formats the next launch of a periodic job in UTC; empty for other jobs. */
export function formatNextLaunch(job: Job, nowMs: number): string {
  const { Periodic } = job
  if (Periodic === null || !isActivePeriodic(job)) return ''
  try {
    const launchMs = nextLaunchMs(Periodic, nowMs, createTimeZoneOffset())
    return launchMs === undefined
      ? 'never: no time to come fits its schedule'
      : `${dateFromMs(launchMs)} (in ${formatAge(launchMs - nowMs)})`
  } catch (thrown) {
    // The local time zone data lacks the zone of the job.
    if (thrown instanceof RangeError) return ''
    throw thrown
  }
}
