import type { Job } from '@reeve/contract'
import { isSystemType } from '../model/index.ts'

/** True for jobs that run on every feasible node (system and sysbatch). */
export function isSystemJob(job: Job): boolean {
  return isSystemType(job.Type)
}

/**
 * True if missing allocations are placed all together or not at all; does not apply to system jobs.
 */
export function isAllAtOnce(job: Job): boolean {
  return job.AllAtOnce && !isSystemJob(job)
}
