import type { Job } from '@reeve/contract'
import { isSystemType } from '../model/index.ts'

/** Whether the job runs once on every node rather than so many times anywhere. */
export function isSystemJob(job: Job): boolean {
  return isSystemType(job.Type)
}

/** Whether all that is missing of the job is placed at once or nothing; not so on every node. */
export function isPlacedAtOnce(job: Job): boolean {
  return job.AllAtOnce && !isSystemJob(job)
}
