import type { Job, JobStatus } from '@reeve/contract'
import { isParameterized } from './job-change.ts'

/** What is known of the things that belong to a job. */
export interface JobFacts {
  /** A deployment that is neither failed nor successful nor cancelled. */
  readonly hasActiveDeployment: boolean
  /** An allocation that neither side has ended. */
  readonly hasLiveAllocation: boolean
  /** An evaluation of exactly this job that is pending or blocked. */
  readonly hasOpenEvaluation: boolean
  /** Any evaluation, also one that has just been collected. */
  readonly hadEvaluation: boolean
}

/** The first rule that applies. */
export function jobStatus(job: Job, facts: JobFacts): JobStatus {
  if (job.Type === 'system' || job.Periodic !== null || isParameterized(job))
    return job.Stop ? 'dead' : 'running'
  if (facts.hasActiveDeployment) return 'running'
  if (facts.hasLiveAllocation) return 'running'
  if (facts.hasOpenEvaluation) return 'pending'
  // Dead jobs are collected; one that is quarantined waits for its release.
  if (job.Quarantine !== undefined && !job.Stop) return 'pending'
  if (isDesiredService(job)) return 'pending'
  if (facts.hadEvaluation || job.Stop) return 'dead'
  return 'pending'
}

/** A service is never done: none of it runs now, but some of it should. */
function isDesiredService({ Type, Stop, TaskGroups }: Job): boolean {
  return Type === 'service' && !Stop && TaskGroups.some((group) => group.Count > 0)
}
