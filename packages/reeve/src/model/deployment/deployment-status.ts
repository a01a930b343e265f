import type { Deployment } from '@reeve/contract'
import { nsFromMs } from '@reeve/kit/duration.ts'

/** `StatusDescription` of deployments. The texts are part of the contract. */
export const DEPLOYMENT_DESCRIPTIONS = {
  running: 'Deployment is running',
  needsPromotion: 'Deployment is running but requires manual promotion',
  autoPromotion: 'Deployment is running pending automatic promotion',
  paused: 'Deployment is paused',
  successful: 'Deployment completed successfully',
  jobStopped: 'Cancelled because job is stopped',
  newerVersion: 'Cancelled due to newer version of job',
  unhealthy: 'Failed due to unhealthy allocations',
  progressDeadline: 'Failed due to progress deadline',
  failedByUser: 'Deployment marked as failed',
  // Peers have no quarantine (decision 0061).
  quarantined: 'Failed because the job is quarantined',
  // Multi-region jobs only.
  pending: 'Deployment waits until other regions are done',
  blocked: 'Deployment is complete and waits for other regions',
  needsUnblocking: 'Deployment is complete, failed in another region and waits to be unblocked',
  unblocking: 'Deployment ends without waiting for other regions',
  failedInOtherRegion: 'Failed because it failed in another region',
} as const

/** Suffix of a failure's text if a group has `auto_revert`. */
export const ROLLBACK_DESCRIPTIONS = {
  rollsBack: (version: number) => ` - rolling back to job version ${version}`,
  sameSpecification: (version: number) =>
    ` - not rolling back to stable job version ${version} as current job has same specification`,
  noStableVersion: ' - no stable job version to auto revert to',
} as const

/** Reports whether a deployment is not terminal and may still change. */
export function isActiveDeployment({ Status }: Pick<Deployment, 'Status'>): boolean {
  return Status !== 'failed' && Status !== 'successful' && Status !== 'cancelled'
}

/** Reports whether canaries of a group are not promoted yet. */
export function awaitsPromotion({ TaskGroups }: Pick<Deployment, 'TaskGroups'>): boolean {
  return Object.values(TaskGroups).some((group) => group.DesiredCanaries > 0 && !group.Promoted)
}

/** Reports whether every group with canaries has `auto_promote`. */
export function isAutoPromote({ TaskGroups }: Pick<Deployment, 'TaskGroups'>): boolean {
  const withCanaries = Object.values(TaskGroups).filter((group) => group.DesiredCanaries > 0)
  return withCanaries.length > 0 && withCanaries.every((group) => group.AutoPromote)
}

/** Returns the status description of a running deployment. */
export function runningDescription(deployment: Pick<Deployment, 'TaskGroups'>): string {
  if (!awaitsPromotion(deployment)) return DEPLOYMENT_DESCRIPTIONS.running
  return isAutoPromote(deployment)
    ? DEPLOYMENT_DESCRIPTIONS.autoPromotion
    : DEPLOYMENT_DESCRIPTIONS.needsPromotion
}

export interface DeploymentEnd {
  readonly status: 'successful' | 'failed' | 'cancelled'
  readonly description: string
  readonly timeMs: number
}

export function endDeployment(
  deployment: Deployment,
  { status, description, timeMs }: DeploymentEnd,
): Deployment {
  return {
    ...deployment,
    Status: status,
    StatusDescription: description,
    ModifyTime: nsFromMs(timeMs),
  }
}
