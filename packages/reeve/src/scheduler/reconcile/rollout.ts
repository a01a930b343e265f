import type { Deployment, DeploymentGroupState, Job, TaskGroup } from '@reeve/contract'
import type { IdSource } from '@reeve/kit/clock.ts'
import {
  completeInRegion,
  DEPLOYMENT_TEXTS,
  endDeployment,
  isActiveDeployment,
  isCoordinated,
  newDeployment,
  runningText,
  withGroupStates,
} from '../../model/index.ts'

/** How the roll-out of the job's version stands before anything is decided. */
export interface Rollout {
  /** The deployment of this very version, unless it has ended well. */
  readonly current: Deployment | undefined
  readonly isActive: boolean
  readonly isPaused: boolean
  readonly isFailed: boolean
  /** The deployment of another version that this one puts an end to. */
  readonly cancelled: Deployment | undefined
}

const NO_ROLLOUT: Rollout = {
  current: undefined,
  isActive: false,
  isPaused: false,
  isFailed: false,
  cancelled: undefined,
}

/** Which deployment goes on, and which ends. `job` is undefined when it is stopped or purged. */
export function rolloutOf(
  job: Job | undefined,
  latest: Deployment | undefined,
  nowMs: number,
): Rollout {
  if (latest === undefined) return NO_ROLLOUT
  const isActive = isActiveDeployment(latest)
  const isOwn =
    job !== undefined &&
    latest.JobVersion === job.Version &&
    latest.JobCreateIndex === job.CreateIndex
  if (!isOwn) {
    const text = job === undefined ? DEPLOYMENT_TEXTS.jobStopped : DEPLOYMENT_TEXTS.newerVersion
    const end = { status: 'cancelled', text, timeMs: nowMs } as const
    return { ...NO_ROLLOUT, cancelled: isActive ? endDeployment(latest, end) : undefined }
  }
  const isFailed = latest.Status === 'failed'
  // One that has ended well has nothing left to say, nor has one that was given up.
  if (!isActive && !isFailed) return NO_ROLLOUT
  const isPaused = ['paused', 'pending', 'initializing'].includes(latest.Status)
  return { current: latest, isActive, isPaused, isFailed, cancelled: undefined }
}

/** Whether new versions of the group are rolled out step by step. */
export function isDeployed(job: Job, { Update }: TaskGroup): boolean {
  const hasDeployments = job.Type === 'service' || job.Type === 'system'
  return hasDeployments && Update !== null && Update.MaxParallel > 0
}

/** What one group adds to the roll-out. */
export interface GroupRollout {
  readonly group: string
  /** Its new state; undefined: as it was. */
  readonly state: DeploymentGroupState | undefined
  /** Nothing is left to do, and enough of it is healthy. */
  readonly isDone: boolean
}

export interface DeploymentDecision {
  /** What new and updated allocations belong to; undefined while nothing is rolled out. */
  readonly active: Deployment | undefined
  /** The deployment that the plan makes or changes. */
  readonly written: Deployment | undefined
  /** The deployment that the plan brings to its end. */
  readonly ended: Deployment | undefined
}

export interface DeploymentContext {
  readonly job: Job
  readonly ids: IdSource
  readonly nowMs: number
  readonly priority: number
}

/** One deployment spans all groups. */
export function decideDeployment(
  rollout: Rollout,
  groups: readonly GroupRollout[],
  context: DeploymentContext,
): DeploymentDecision {
  const { current, isActive } = rollout
  const states = new Map(
    groups.flatMap(({ group, state }) => (state === undefined ? [] : [[group, state] as const])),
  )
  const written = states.size > 0 ? withStates(current ?? begun(context), states) : undefined
  if (written === undefined && !isActive)
    return { active: undefined, written: undefined, ended: undefined }
  const active = written ?? current
  const isRolling = current?.Status === 'running' || current?.Status === 'unblocking'
  const isDone = isRolling && groups.every((group) => group.isDone)
  if (active === undefined || !isDone) return { active, written, ended: undefined }
  if (active.Status === 'running' && isCoordinated(context.job))
    return { active, written: completeInRegion(active, context.nowMs), ended: undefined }
  // Also when this very run found that less is wanted: nothing would wake the next one.
  const end = { status: 'successful', text: DEPLOYMENT_TEXTS.successful } as const
  const ended = endDeployment(active, { ...end, timeMs: context.nowMs })
  return { active: undefined, written: undefined, ended }
}

function begun({ job, ids, nowMs, priority }: DeploymentContext): Deployment {
  return newDeployment(job, { id: ids.uuid(), timeMs: nowMs, priority })
}

function withStates(
  deployment: Deployment,
  states: ReadonlyMap<string, DeploymentGroupState>,
): Deployment {
  const next = withGroupStates(deployment, states)
  if (next.Status !== 'running') return next
  return { ...next, StatusDescription: runningText(next) }
}

/** Enough of the group is healthy, and its canaries were promoted. */
export function isRolledOut(state: DeploymentGroupState | undefined): boolean {
  if (state === undefined) return true
  if (state.DesiredCanaries > 0 && !state.Promoted) return false
  return state.HealthyAllocs >= Math.max(state.DesiredTotal, state.DesiredCanaries)
}
