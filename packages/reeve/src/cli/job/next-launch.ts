import type { Job } from '@reeve/contract'
import { createTimeZoneOffset } from '@reeve/kit/time-zone.ts'
import { isLaunchedByTime, nextLaunchMs } from '../../model/index.ts'
import { dateFromMs, formatAge } from '../output/time.ts'

/** When a job is launched next, in UTC as all times here; empty for jobs that no time launches. */
export function nextLaunchText(job: Job, nowMs: number): string {
  const { Periodic } = job
  if (Periodic === null || !isLaunchedByTime(job)) return ''
  try {
    const launchMs = nextLaunchMs(Periodic, nowMs, createTimeZoneOffset())
    return launchMs === undefined
      ? 'never: no time to come fits its schedule'
      : `${dateFromMs(launchMs)} (in ${formatAge(launchMs - nowMs)})`
  } catch (thrown) {
    // The server knows a time zone that this machine does not.
    if (thrown instanceof RangeError) return ''
    throw thrown
  }
}
