import type { Deployment, Job } from '@reeve/contract'
import { jobSpecChanged } from '../job/job-change.ts'
import { ROLLBACK_DESCRIPTIONS } from './deployment-status.ts'

/** Outcome for a job whose deployment failed. */
export interface RollbackDecision {
  /** The version to register again; undefined if there is none. */
  readonly target: Job | undefined
  /** Suffix of the failure's text. */
  readonly suffix: string
}

/** Reports whether the job's current version is the one of the deployment. */
export function isCurrentDeployment(
  deployment: Pick<Deployment, 'JobVersion' | 'JobCreateIndex'>,
  job: Job,
): boolean {
  const { JobVersion, JobCreateIndex } = deployment
  return !job.Stop && job.Version === JobVersion && job.CreateIndex === JobCreateIndex
}

/**
 * Decides the rollback to the newest stable version. One with the same specification would fail
 * again. `versions` are those of the job, oldest first; versions left from a purged job with the
 * same ID do not count.
 */
export function decideRollback(current: Job, versions: readonly Job[]): RollbackDecision {
  const stable = versions.findLast(
    ({ Stable, Stop, CreateIndex }) => Stable && !Stop && CreateIndex === current.CreateIndex,
  )
  if (stable === undefined)
    return { target: undefined, suffix: ROLLBACK_DESCRIPTIONS.noStableVersion }
  if (!jobSpecChanged(current, stable))
    return { target: undefined, suffix: ROLLBACK_DESCRIPTIONS.sameSpecification(stable.Version) }
  return { target: stable, suffix: ROLLBACK_DESCRIPTIONS.rollsBack(stable.Version) }
}
