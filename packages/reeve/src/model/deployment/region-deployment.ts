import type { Deployment, Job } from '@reeve/contract'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { hasMultiregionStrategy, startsPending } from '../job/region-job.ts'
import { DEPLOYMENT_DESCRIPTIONS } from './deployment-status.ts'
import { newDeployment, type NewDeploymentOptions } from './new-deployment.ts'

/**
 * Creates the deployment of a version in one of several regions that deploy in turn. It is created
 * at registration, so that the other regions see it and the scheduler waits for its turn. Undefined
 * if the job has no rolling update.
 */
export function newRegionDeployment(
  job: Job,
  region: string,
  options: NewDeploymentOptions,
): Deployment | undefined {
  const hasRollingUpdate = job.TaskGroups.some(({ Update }) => (Update?.MaxParallel ?? 0) > 0)
  const hasDeployments = job.Type === 'service' || job.Type === 'system'
  if (!hasMultiregionStrategy(job) || !hasDeployments || !hasRollingUpdate) return undefined
  const deployment = newDeployment(job, options)
  if (!startsPending(job, region)) return deployment
  return { ...deployment, Status: 'pending', StatusDescription: DEPLOYMENT_DESCRIPTIONS.pending }
}

/**
 * Reports whether the deployment rolls this region back after a failure. Regions coordinate the
 * deployments that a registration creates in the commit of the new version. An automatic rollback's
 * deployment is created later, by the scheduler, and is not coordinated: the other regions do not
 * have its version.
 */
export function isRegionalRollback({
  CreateIndex,
  JobSpecModifyIndex,
}: Pick<Deployment, 'CreateIndex' | 'JobSpecModifyIndex'>): boolean {
  return CreateIndex !== JobSpecModifyIndex
}

/**
 * Marks the deployment as complete in this region; it becomes successful when the other regions are
 * complete.
 */
export function blockOnOtherRegions(deployment: Deployment, timeMs: number): Deployment {
  return {
    ...deployment,
    Status: 'blocked',
    StatusDescription: DEPLOYMENT_DESCRIPTIONS.blocked,
    ModifyTime: nsFromMs(timeMs),
  }
}

/**
 * Marks the deployment as held, because another region has failed: only an operator can continue
 * it.
 */
export function requireUnblock(deployment: Deployment, timeMs: number): Deployment {
  return {
    ...deployment,
    StatusDescription: DEPLOYMENT_DESCRIPTIONS.needsUnblocking,
    ModifyTime: nsFromMs(timeMs),
  }
}

/** Reports whether the deployment is held until an operator unblocks it. */
export function isAwaitingUnblock({ Status, StatusDescription }: UnblockableDeployment): boolean {
  return Status === 'blocked' && StatusDescription === DEPLOYMENT_DESCRIPTIONS.needsUnblocking
}

type UnblockableDeployment = Pick<Deployment, 'Status' | 'StatusDescription'>

/** Marks a deployment to continue without waiting for other regions; the scheduler completes it. */
export function unblockDeployment(deployment: Deployment, timeMs: number): Deployment {
  return {
    ...deployment,
    Status: 'unblocking',
    StatusDescription: DEPLOYMENT_DESCRIPTIONS.unblocking,
    ModifyTime: nsFromMs(timeMs),
  }
}
