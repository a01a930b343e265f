import type { Deployment, Evaluation, Job } from '@reeve/contract'
import type { IdSource } from '@reeve/kit/clock.ts'
import { nsFromMs } from '@reeve/kit/duration.ts'
import {
  decideRollback,
  endDeployment,
  healthyCanaries,
  isCurrentDeployment,
  newEvaluation,
  promoteGroups,
  LIMITS,
  withOrigin,
  withoutQuarantine,
  type AllocationRow,
} from '../../model/index.ts'
import { put, type Change, type Stamp } from '../store.ts'
import { jobVersionKey, namespacedKey, type Tables } from '../schema/tables.ts'
import { nextVersionNumber, versionRows } from './job-version.ts'

/** Inputs of a deployment write. */
export interface DeploymentWrite {
  readonly stamp: Stamp
  readonly ids: IdSource
  /** ID of the resulting evaluation; empty for none. */
  readonly evalId: string
}

/** A decided failure of a deployment. */
interface FailedDeployment {
  readonly deployment: Deployment
  /** Status description, including the rollback of the job. */
  readonly statusDescription: string
  /** Version that the same commit restores; undefined for none. */
  readonly rollbackTarget: Job | undefined
}

interface FailureCause {
  readonly description: string
  readonly hasAutoRevert: boolean
  /** Reason reported by the allocations. */
  readonly reason?: string
}

/**
 * Decides the consequences of a failed deployment. A job that is no longer at the deployed version
 * is not rolled back.
 */
export function decideFailure(
  tables: Tables,
  deployment: Deployment,
  { description: cause, hasAutoRevert, reason = '' }: FailureCause,
): FailedDeployment {
  // Clients compare the texts of causes and rollbacks, so a reason is only appended.
  const reasonSuffix = reason === '' ? '' : `: ${reason}`
  const key = namespacedKey(deployment.Namespace, deployment.JobID)
  const job = tables.jobs.find(key)
  if (!hasAutoRevert || job === undefined || !isCurrentDeployment(deployment, job))
    return { deployment, statusDescription: cause + reasonSuffix, rollbackTarget: undefined }
  const { target, suffix } = decideRollback(job, tables.job_versions.rowsByIndex('job', key))
  return { deployment, statusDescription: cause + suffix + reasonSuffix, rollbackTarget: target }
}

/** Rows that fail the deployment, roll back its job and create the evaluation. */
export function failureRows(
  tables: Tables,
  { deployment, statusDescription, rollbackTarget }: FailedDeployment,
  write: DeploymentWrite,
): Change[] {
  const end = {
    status: 'failed',
    description: statusDescription,
    timeMs: write.stamp.timeMs,
  } as const
  const reverted =
    rollbackTarget === undefined
      ? undefined
      : revertedJob(tables, { rollbackTarget, deployment, statusDescription }, write.stamp)
  return [
    put('deployments', endDeployment(deployment, end)),
    ...(reverted === undefined || rollbackTarget === undefined
      ? []
      : versionRows(tables, reverted, {
          ids: write.ids,
          sourceBlob: sourceBlobOf(tables, rollbackTarget),
        })),
    ...deploymentEvaluation(tables, deployment, { ...write, job: reverted }),
  ]
}

/** A restored version gets a new number and is not stable. */
function revertedJob(
  tables: Tables,
  {
    rollbackTarget,
    deployment,
    statusDescription,
  }: FailedDeployment & { readonly rollbackTarget: Job },
  { index, timeMs }: Stamp,
): Job {
  const origin = {
    submittedBy: undefined,
    origin: `auto-revert of ${deployment.JobVersion}`,
    message: statusDescription.slice(0, LIMITS.jobMessageCharsMax),
  }
  return {
    ...withoutQuarantine(withOrigin(rollbackTarget, origin)),
    Version: nextVersionNumber(tables, rollbackTarget),
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

function sourceBlobOf({ job_submissions }: Tables, { Namespace, ID, Version }: Job) {
  return job_submissions.find(jobVersionKey(Namespace, ID, Version))?.BlobKey
}

/** Rows that promote the groups: their healthy canaries become normal allocations. */
export function promotionRows(
  tables: Tables,
  { deployment, groups }: { readonly deployment: Deployment; readonly groups: readonly string[] },
  write: DeploymentWrite,
): Change[] {
  const find = (id: string): AllocationRow | undefined => tables.allocations.find(id)
  const canaries = groups.flatMap((group) => healthyCanaries(deployment, group, find))
  return [
    put('deployments', promoteGroups(deployment, groups, write.stamp.timeMs)),
    ...canaries.map((row) => put('allocations', clearCanary(row, write.stamp))),
    ...deploymentEvaluation(tables, deployment, write),
  ]
}

function clearCanary(row: AllocationRow, { index, timeMs }: Stamp): AllocationRow {
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

/** An evaluation of the deployment's job; none if the job was purged. */
export function deploymentEvaluation(
  tables: Tables,
  deployment: Deployment,
  { stamp, evalId, job: updatedJob }: DeploymentWrite & { readonly job?: Job | undefined },
): Change[] {
  const key = namespacedKey(deployment.Namespace, deployment.JobID)
  const job = updatedJob ?? tables.jobs.find(key)
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
