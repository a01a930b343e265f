import type { Job } from '@reeve/contract'

/** Whether the job runs once on every node rather than so many times anywhere. */
export function isSystemJob(job: Job): boolean {
  return job.Type === 'system' || job.Type === 'sysbatch'
}
