import type { Job } from '@reeve/contract'
import { comingText } from '../../parts/time.ts'

/** Where the clock of the server is behind: what is due is not asked for without end. */
const ASKED_MS_MIN = 10_000
/** A timer of a browser counts to 2^31 ms: about 24 days. */
const ASKED_MS_MAX = 86_400_000

type Launched = Pick<Job, 'Periodic' | 'Stop' | 'ParameterizedJob' | 'Dispatched'>

/** Why no time launches the job; undefined when one does. */
export function whyNotLaunched(job: Launched): string | undefined {
  if (job.Stop) return 'none: the job is stopped'
  if (job.Periodic?.Enabled !== true) return 'none: the schedule is turned off'
  return undefined
}

/** What the plan of a job says of its next launch; undefined when no time to come fits. */
export function launchText(launch: Date | undefined, nowMs: number): string {
  return launch === undefined
    ? 'never: no time to come fits its schedule'
    : comingText(launch, nowMs)
}

/** How long what is known of the next launch is good. */
export function launchKeptMs(launch: Date | undefined, nowMs: number): number {
  const untilMs = (launch?.getTime() ?? Infinity) - nowMs
  return Math.min(ASKED_MS_MAX, Math.max(ASKED_MS_MIN, untilMs + 1_000))
}
