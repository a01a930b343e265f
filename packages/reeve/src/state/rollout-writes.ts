import type { Deployment, Evaluation, Job } from '@reeve/contract'
import type { IdSource } from '@reeve/kit/clock.ts'
import { nsFromMs } from '@reeve/kit/duration.ts'
import {
  decideRollback,
  endDeployment,
  healthyCanaries,
  isRolledOutBy,
  newEvaluation,
  promoteGroups,
  LIMITS,
  withOrigin,
  withoutQuarantine,
  type AllocationRow,
} from '../model/index.ts'
import { put, type Change, type Stamp } from './store.ts'
import { jobVersionKey, namespacedKey, type Tables } from './tables.ts'
import { nextVersionNumber, versionRows } from './version-rows.ts'

/** What a write to a deployment is made with. */
export interface RolloutWrite {
  readonly stamp: Stamp
  readonly ids: IdSource
  /** The evaluation that follows from it; empty: none does. */
  readonly evalId: string
}

/** A deployment that fails, as it will be told. */
export interface RolloutFailure {
  readonly deployment: Deployment
  /** With what becomes of the job. */
  readonly text: string
  /** The version that is registered again in the same commit. */
  readonly target: Job | undefined
}

interface FailureCause {
  readonly text: string
  readonly reverts: boolean
  /** What its allocations say about it. */
  readonly reason?: string
}

/**
 * What the failure of a deployment means for its job. A job that has moved on is left alone:
 * somebody has decided otherwise since.
 */
export function planFailure(
  tables: Tables,
  deployment: Deployment,
  { text: cause, reverts, reason = '' }: FailureCause,
): RolloutFailure {
  // Clients compare the texts of causes and rollbacks: a reason only follows them.
  const because = reason === '' ? '' : `: ${reason}`
  const key = namespacedKey(deployment.Namespace, deployment.JobID)
  const job = tables.jobs.find(key)
  if (!reverts || job === undefined || !isRolledOutBy(deployment, job))
    return { deployment, text: cause + because, target: undefined }
  const { target, suffix } = decideRollback(job, tables.job_versions.rowsIn('job', key))
  return { deployment, text: cause + suffix + because, target }
}

/** The end of the deployment, the version that its job goes back to, and their evaluation. */
export function failureRows(
  tables: Tables,
  { deployment, text, target }: RolloutFailure,
  write: RolloutWrite,
): Change[] {
  const end = { status: 'failed', text, timeMs: write.stamp.timeMs } as const
  const reverted =
    target === undefined
      ? undefined
      : revertedJob(tables, { target, deployment, text }, write.stamp)
  return [
    put('deployments', endDeployment(deployment, end)),
    ...(reverted === undefined || target === undefined
      ? []
      : versionRows(tables, reverted, { ids: write.ids, sourceBlob: sourceOf(tables, target) })),
    ...rolloutEvaluation(tables, deployment, { ...write, job: reverted }),
  ]
}

/** An earlier version that comes again is a new one, and not stable. */
function revertedJob(
  tables: Tables,
  { target, deployment, text }: RolloutFailure & { readonly target: Job },
  { index, timeMs }: Stamp,
): Job {
  const origin = {
    submittedBy: undefined,
    origin: `auto-revert of ${deployment.JobVersion}`,
    message: text.slice(0, LIMITS.jobMessageCharsMax),
  }
  return {
    ...withoutQuarantine(withOrigin(target, origin)),
    Version: nextVersionNumber(tables, target),
    Status: 'pending',
    StatusDescription: '',
    Stable: false,
    Stop: false,
    VersionTag: null,
    SubmitTime: nsFromMs(timeMs),
    JobModifyIndex: index,
    ModifyIndex: index,
  }
}

function sourceOf({ job_submissions }: Tables, { Namespace, ID, Version }: Job) {
  return job_submissions.find(jobVersionKey(Namespace, ID, Version))?.BlobKey
}

/** The groups are promoted: their healthy canaries are allocations like any other from now on. */
export function promotionRows(
  tables: Tables,
  { deployment, groups }: { readonly deployment: Deployment; readonly groups: readonly string[] },
  write: RolloutWrite,
): Change[] {
  const find = (id: string): AllocationRow | undefined => tables.allocations.find(id)
  const canaries = groups.flatMap((group) => healthyCanaries(deployment, group, find))
  return [
    put('deployments', promoteGroups(deployment, groups, write.stamp.timeMs)),
    ...canaries.map((row) => put('allocations', withoutTrial(row, write.stamp))),
    ...rolloutEvaluation(tables, deployment, write),
  ]
}

function withoutTrial(row: AllocationRow, { index, timeMs }: Stamp): AllocationRow {
  const status = row.DeploymentStatus
  return {
    ...row,
    DeploymentStatus:
      status === null || status === undefined
        ? status
        : { ...status, Canary: false, ModifyIndex: index },
    AllocModifyIndex: index,
    ModifyTime: nsFromMs(timeMs),
  }
}

/** One evaluation of the deployment's job; none when it was purged. */
export function rolloutEvaluation(
  tables: Tables,
  deployment: Deployment,
  { stamp, evalId, job: given }: RolloutWrite & { readonly job?: Job | undefined },
): Change[] {
  const key = namespacedKey(deployment.Namespace, deployment.JobID)
  const job = given ?? tables.jobs.find(key)
  if (job === undefined || evalId === '') return []
  const evaluation: Evaluation = {
    ...newEvaluation(job, {
      id: evalId,
      trigger: 'deployment-watcher',
      timeMs: stamp.timeMs,
      jobModifyIndex: job.JobModifyIndex,
      priority: deployment.EvalPriority,
    }),
    DeploymentID: deployment.ID,
  }
  return [put('evaluations', evaluation)]
}
