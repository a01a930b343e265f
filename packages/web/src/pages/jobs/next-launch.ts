import type { Job } from '@reeve/contract'
import { formatFuture } from '../../parts/time.ts'

/** Limits the requests if the clock of the server is behind and the launch is overdue. */
const REFETCH_MS_MIN = 10_000
/** Timers of browsers are limited to 2^31 ms, about 24 days. */
const REFETCH_MS_MAX = 86_400_000

type LaunchableJob = Pick<Job, 'Periodic' | 'Stop' | 'ParameterizedJob' | 'Dispatched'>

/** Returns why the schedule does not launch the job; undefined if it does. */
export function whyNotLaunched(job: LaunchableJob): string | undefined {
  if (job.Stop) return 'none: the job is stopped'
  if (job.Periodic?.Enabled !== true) return 'none: the schedule is disabled'
  return undefined
}

/** Formats the next launch; undefined means that the schedule has no future match. */
export function launchText(launch: Date | undefined, nowMs: number): string {
  return launch === undefined
    ? 'never: no time to come fits its schedule'
    : formatFuture(launch, nowMs)
}

/** Returns how long the known next launch stays valid. */
export function launchStaleMs(launch: Date | undefined, nowMs: number): number {
  const untilMs = (launch?.getTime() ?? Infinity) - nowMs
  return Math.min(REFETCH_MS_MAX, Math.max(REFETCH_MS_MIN, untilMs + 1_000))
}
