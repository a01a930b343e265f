import type { Deployment, DeploymentGroupState, Job, TaskGroup } from '@reeve/contract'
import type { IdSource } from '@reeve/kit/clock.ts'
import {
  blockOnOtherRegions,
  DEPLOYMENT_DESCRIPTIONS,
  endDeployment,
  isActiveDeployment,
  hasMultiregionStrategy,
  newDeployment,
  runningDescription,
  withGroupStates,
} from '../../model/index.ts'

/** State of the deployment of the current version before any decision. */
export interface DeploymentState {
  /** Deployment of the current version, unless it was successful or cancelled. */
  readonly current: Deployment | undefined
  readonly isActive: boolean
  readonly isPaused: boolean
  readonly isFailed: boolean
  /** Deployment of another version that is cancelled by this one. */
  readonly cancelled: Deployment | undefined
}

const NO_DEPLOYMENT: DeploymentState = {
  current: undefined,
  isActive: false,
  isPaused: false,
  isFailed: false,
  cancelled: undefined,
}

/**
 * Determines which deployment continues and which is cancelled. `job` is undefined if it is stopped
 * or purged.
 */
export function deploymentStateOf(
  job: Job | undefined,
  latest: Deployment | undefined,
  nowMs: number,
): DeploymentState {
  if (latest === undefined) return NO_DEPLOYMENT
  const isActive = isActiveDeployment(latest)
  const isOfThisVersion =
    job !== undefined &&
    latest.JobVersion === job.Version &&
    latest.JobCreateIndex === job.CreateIndex
  if (!isOfThisVersion) {
    const text =
      job === undefined ? DEPLOYMENT_DESCRIPTIONS.jobStopped : DEPLOYMENT_DESCRIPTIONS.newerVersion
    const end = { status: 'cancelled', description: text, timeMs: nowMs } as const
    return { ...NO_DEPLOYMENT, cancelled: isActive ? endDeployment(latest, end) : undefined }
  }
  const isFailed = latest.Status === 'failed'
  // A successful or cancelled deployment does not constrain scheduling.
  if (!isActive && !isFailed) return NO_DEPLOYMENT
  const isPaused = ['paused', 'pending', 'initializing'].includes(latest.Status)
  return { current: latest, isActive, isPaused, isFailed, cancelled: undefined }
}

/** True if new versions of the group are rolled out with deployments. */
export function usesDeployments(job: Job, { Update }: TaskGroup): boolean {
  const hasDeployments = job.Type === 'service' || job.Type === 'system'
  return hasDeployments && Update !== null && Update.MaxParallel > 0
}

/** Change of one group in a deployment. */
export interface GroupDeploymentChange {
  readonly group: string
  /** New group state; undefined if unchanged. */
  readonly state: DeploymentGroupState | undefined
  /** True if nothing is left to do and enough allocations are healthy. */
  readonly isComplete: boolean
}

export interface DeploymentPlan {
  /** Deployment of new and updated allocations; undefined if none is active. */
  readonly active: Deployment | undefined
  /** Deployment that the plan creates or updates. */
  readonly written: Deployment | undefined
  /** Deployment that the plan completes. */
  readonly ended: Deployment | undefined
}

export interface DeploymentContext {
  readonly job: Job
  readonly ids: IdSource
  readonly nowMs: number
  readonly priority: number
}

/** Plans the deployment of the job, which spans all groups. */
export function planDeployment(
  rollout: DeploymentState,
  groups: readonly GroupDeploymentChange[],
  context: DeploymentContext,
): DeploymentPlan {
  const { current, isActive } = rollout
  const states = new Map(
    groups.flatMap(({ group, state }) => (state === undefined ? [] : [[group, state] as const])),
  )
  const written =
    states.size > 0
      ? withGroupStatesAndDescription(current ?? startDeployment(context), states)
      : undefined
  if (written === undefined && !isActive)
    return { active: undefined, written: undefined, ended: undefined }
  const active = written ?? current
  const isRolling = current?.Status === 'running' || current?.Status === 'unblocking'
  const isDone = isRolling && groups.every((group) => group.isComplete)
  if (active === undefined || !isDone) return { active, written, ended: undefined }
  if (active.Status === 'running' && hasMultiregionStrategy(context.job))
    return { active, written: blockOnOtherRegions(active, context.nowMs), ended: undefined }
  // Ends also if this run reduced the count: no later event would trigger an evaluation.
  const end = { status: 'successful', description: DEPLOYMENT_DESCRIPTIONS.successful } as const
  const ended = endDeployment(active, { ...end, timeMs: context.nowMs })
  return { active: undefined, written: undefined, ended }
}

function startDeployment({ job, ids, nowMs, priority }: DeploymentContext): Deployment {
  return newDeployment(job, { id: ids.uuid(), timeMs: nowMs, priority })
}

function withGroupStatesAndDescription(
  deployment: Deployment,
  states: ReadonlyMap<string, DeploymentGroupState>,
): Deployment {
  const next = withGroupStates(deployment, states)
  if (next.Status !== 'running') return next
  return { ...next, StatusDescription: runningDescription(next) }
}

/** True if enough allocations of the group are healthy and its canaries were promoted. */
export function isGroupHealthy(state: DeploymentGroupState | undefined): boolean {
  if (state === undefined) return true
  if (state.DesiredCanaries > 0 && !state.Promoted) return false
  return state.HealthyAllocs >= Math.max(state.DesiredTotal, state.DesiredCanaries)
}
