import type { Job, JobStatus } from '@reeve/contract'
import { isParameterized } from './job-change.ts'

/** Objects of a job that determine its status. */
export interface JobStatusInputs {
  /** A deployment that is neither failed nor successful nor cancelled. */
  readonly hasActiveDeployment: boolean
  /** An allocation that is not terminal on server or client. */
  readonly hasLiveAllocation: boolean
  /** A pending or blocked evaluation of this job. */
  readonly hasOpenEvaluation: boolean
  /** Any evaluation, including one that was just garbage-collected. */
  readonly hadEvaluation: boolean
}

/** Returns the status by the first rule that applies. */
export function jobStatus(job: Job, inputs: JobStatusInputs): JobStatus {
  if (job.Type === 'system' || job.Periodic !== null || isParameterized(job))
    return job.Stop ? 'dead' : 'running'
  if (inputs.hasActiveDeployment) return 'running'
  if (inputs.hasLiveAllocation) return 'running'
  if (inputs.hasOpenEvaluation) return 'pending'
  // Dead jobs are garbage-collected; a quarantined one waits for its release.
  if (job.Quarantine !== undefined && !job.Stop) return 'pending'
  if (shouldRunService(job)) return 'pending'
  if (inputs.hadEvaluation || job.Stop) return 'dead'
  return 'pending'
}

/**
 * Reports a service that should run although it has no live allocation: services never complete.
 */
function shouldRunService({ Type, Stop, TaskGroups }: Job): boolean {
  return Type === 'service' && !Stop && TaskGroups.some((group) => group.Count > 0)
}
