import type { Deployment, Input, Job, MultiregionRegion } from '@reeve/contract'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { DEPLOYMENT_DESCRIPTIONS, newDeployment, type NewDeploymentOptions } from './deployment.ts'

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

/** Values of `on_failure`: the effect of a failed region on the others; empty is the default. */
const ON_FAILURE: readonly string[] = ['', 'fail_all', 'fail_local']

/** Returns the problem of a job's regions; undefined if there is none. */
export function multiregionProblem({ Multiregion }: Pick<Job, 'Multiregion'>): string | undefined {
  if (Multiregion === null) return undefined
  const names = Multiregion.Regions.map(({ Name }) => Name)
  if (names.length === 0) return 'Multiregion must list at least one region'
  if (names.includes('')) return 'Multiregion region must have a name'
  const duplicate = names.find((name, index) => names.indexOf(name) !== index)
  if (duplicate !== undefined) return `Multiregion lists region "${duplicate}" twice`
  if (Multiregion.Regions.some(({ Count }) => Count < 0))
    return 'Multiregion region count must be >= 0'
  const { MaxParallel = 0, OnFailure = '' } = Multiregion.Strategy ?? {}
  if (MaxParallel < 0) return 'Multiregion strategy max_parallel must be >= 0'
  return ON_FAILURE.includes(OnFailure)
    ? undefined
    : `Multiregion strategy on_failure must be one of "", "fail_all" and "fail_local"`
}

/**
 * Returns the job of one region: with the region's datacenters and node pool, its meta merged with
 * the job's, and its count for every group without one.
 */
export function jobInRegion(job: Input<Job>, region: Input<MultiregionRegion>): Input<Job> {
  const { Count, Datacenters, NodePool, Meta } = region
  const count = Count ?? 0
  return {
    ...job,
    ...(Datacenters && Datacenters.length > 0 && { Datacenters }),
    ...((NodePool ?? '') !== '' && { NodePool }),
    ...(Meta && { Meta: { ...job.Meta, ...Meta } }),
    ...(count > 0 && {
      TaskGroups: (job.TaskGroups ?? []).map((group) =>
        (group.Count ?? 0) === 0 ? { ...group, Count: count } : group,
      ),
    }),
  }
}

/** Reports whether regions deploy in turn and complete their deployments together. */
export function hasMultiregionStrategy({ Multiregion }: Pick<Job, 'Multiregion'>): boolean {
  return Multiregion !== null && Multiregion.Strategy !== null && Multiregion.Regions.length > 1
}

/** Reports whether a region waits for others: all but the first `max_parallel` do. */
export function startsPending({ Multiregion }: Pick<Job, 'Multiregion'>, region: string): boolean {
  const maxParallel = Multiregion?.Strategy?.MaxParallel ?? 0
  if (Multiregion === null || maxParallel === 0) return false
  return Multiregion.Regions.findIndex(({ Name }) => Name === region) >= maxParallel
}
