import { setImmediate } from 'node:timers/promises'
import type { Input, Job } from '@reeve/contract'
import { isLargeJob } from '../../model/index.ts'

/**
 * What is awaited between two steps of the work on a job: of a large one, everybody else has a turn
 * first. Each step of the largest job that is allowed takes some ten milliseconds, all of them
 * together would hold every other request for as long as they take (decision 0021). What was read
 * from the state before a turn may have changed after it.
 */
export function turnsFor(job: Input<Job>): () => Promise<void> {
  return isLargeJob(job) ? setImmediate : atOnce
}

const DONE = Promise.resolve()

function atOnce(): Promise<void> {
  return DONE
}
