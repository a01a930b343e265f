import type { Deployment, Job } from '@reeve/contract'
import { jobSpecChanged } from '../job/job-change.ts'
import { ROLLBACK_TEXTS } from './deployment-status.ts'

/** What becomes of a job whose deployment failed, and how the deployment tells it. */
export interface Rollback {
  /** The version that is registered again; undefined when there is none to go back to. */
  readonly target: Job | undefined
  /** Follows the text of the failure. */
  readonly suffix: string
}

/** Whether the job is still at the version that the deployment rolls out. */
export function isRolledOutBy(
  deployment: Pick<Deployment, 'JobVersion' | 'JobCreateIndex'>,
  job: Job,
): boolean {
  const { JobVersion, JobCreateIndex } = deployment
  return !job.Stop && job.Version === JobVersion && job.CreateIndex === JobCreateIndex
}

/**
 * Back to the newest stable version. One that asks for the same would fail the same way, again and
 * again. `versions` are those of the job, oldest first; what is left of a purged job with its id is
 * no version of this one.
 */
export function decideRollback(current: Job, versions: readonly Job[]): Rollback {
  const stable = versions.findLast(
    ({ Stable, Stop, CreateIndex }) => Stable && !Stop && CreateIndex === current.CreateIndex,
  )
  if (stable === undefined) return { target: undefined, suffix: ROLLBACK_TEXTS.nothingStable }
  if (!jobSpecChanged(current, stable))
    return { target: undefined, suffix: ROLLBACK_TEXTS.sameSpecification(stable.Version) }
  return { target: stable, suffix: ROLLBACK_TEXTS.rollsBack(stable.Version) }
}
