import type { Deployment, Job } from '@reeve/contract'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { isCoordinated, waitsForRegions } from '../job/region-job.ts'
import { DEPLOYMENT_TEXTS } from './deployment-status.ts'
import { newDeployment, type DeploymentOptions } from './new-deployment.ts'

/**
 * The roll-out of a version in one of the regions that take turns. It is there from the
 * registration on, so that the others see it and the scheduler waits for its turn. Undefined where
 * nothing is rolled out step by step.
 */
export function newRegionDeployment(
  job: Job,
  region: string,
  options: DeploymentOptions,
): Deployment | undefined {
  const isStepwise = job.TaskGroups.some(({ Update }) => (Update?.MaxParallel ?? 0) > 0)
  const hasDeployments = job.Type === 'service' || job.Type === 'system'
  if (!isCoordinated(job) || !hasDeployments || !isStepwise) return undefined
  const deployment = newDeployment(job, options)
  if (!waitsForRegions(job, region)) return deployment
  return { ...deployment, Status: 'pending', StatusDescription: DEPLOYMENT_TEXTS.pending }
}

/**
 * Whether the deployment rolls this region back after a failure. Regions coordinate the deployments
 * that a registration creates in the commit of the new version. That of an automatic rollback is
 * created later, by the scheduler, and waits for nobody: the other regions do not have its version.
 */
export function isRegionalRollback({
  CreateIndex,
  JobSpecModifyIndex,
}: Pick<Deployment, 'CreateIndex' | 'JobSpecModifyIndex'>): boolean {
  return CreateIndex !== JobSpecModifyIndex
}

/** Nothing is left to do here; it ends when the other regions are as far. */
export function completeInRegion(deployment: Deployment, timeMs: number): Deployment {
  return {
    ...deployment,
    Status: 'blocked',
    StatusDescription: DEPLOYMENT_TEXTS.blocked,
    ModifyTime: nsFromMs(timeMs),
  }
}

/** It cannot end well by itself any more: another region failed, and only a person goes on. */
export function holdInRegion(deployment: Deployment, timeMs: number): Deployment {
  return {
    ...deployment,
    StatusDescription: DEPLOYMENT_TEXTS.needsUnblocking,
    ModifyTime: nsFromMs(timeMs),
  }
}

/** Whether it waits for a person to unblock it. */
export function needsUnblocking({ Status, StatusDescription }: HeldDeployment): boolean {
  return Status === 'blocked' && StatusDescription === DEPLOYMENT_TEXTS.needsUnblocking
}

type HeldDeployment = Pick<Deployment, 'Status' | 'StatusDescription'>

/** One that waits for other regions ends without them; the scheduler sees to it. */
export function unblockDeployment(deployment: Deployment, timeMs: number): Deployment {
  return {
    ...deployment,
    Status: 'unblocking',
    StatusDescription: DEPLOYMENT_TEXTS.unblocking,
    ModifyTime: nsFromMs(timeMs),
  }
}
