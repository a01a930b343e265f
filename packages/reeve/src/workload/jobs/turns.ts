import { setImmediate } from 'node:timers/promises'
import type { Input, Job } from '@reeve/contract'
import { isLargeJob } from '../../model/index.ts'

/**
 * Between two steps of the work on a job: when it is a large one, everybody else has a turn first.
 * Each step of the largest job that is allowed takes some ten milliseconds, all of them together
 * would hold every other request for as long as they take (decision 0021). What was read from the
 * state before a turn may have changed after it.
 */
export async function betweenSteps(job: Input<Job>): Promise<void> {
  if (isLargeJob(job)) await setImmediate()
}
