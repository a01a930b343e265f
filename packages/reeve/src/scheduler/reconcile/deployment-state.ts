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
  isClientTerminal,
  type AllocationRow,
  groupStateOf,
  isServerTerminal,
} from '../../model/index.ts'
import { nameIndexOf } from './allocation-state.ts'

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

interface DeploymentPlan {
  /** Deployment of new and updated allocations; undefined if none is active. */
  readonly active: Deployment | undefined
  /** Deployment that the plan creates or updates. */
  readonly written: Deployment | undefined
  /** Deployment that the plan completes. */
  readonly ended: Deployment | undefined
}

interface DeploymentContext {
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

interface UpdateLimitOptions {
  readonly group: TaskGroup
  readonly rollout: DeploymentState
  /** Whether the group uses deployments. */
  readonly usesDeployments: boolean
  /** Whether canaries await promotion. */
  readonly hasUnpromotedCanaries: boolean
  /** Allocations that stay on their node. */
  readonly staying: readonly AllocationRow[]
}

/**
 * Number of allocations that may be updated now: `max_parallel` less those of the deployment
 * without a health result; none while one is unhealthy.
 */
export function updateLimit(context: UpdateLimitOptions): number {
  const { group, rollout, hasUnpromotedCanaries, staying } = context
  if (!context.usesDeployments) return Infinity
  if (rollout.isPaused || rollout.isFailed || hasUnpromotedCanaries) return 0
  const maxParallel = group.Update?.MaxParallel ?? 0
  const { current } = rollout
  if (current === undefined) return maxParallel
  let undecidedCount = 0
  for (const row of staying) {
    if (row.DeploymentID !== current.ID) continue
    const healthy = row.DeploymentStatus?.Healthy ?? null
    if (healthy === false || (healthy === null && isClientTerminal(row))) return 0
    if (healthy === null) undecidedCount += 1
  }
  return Math.max(0, maxParallel - undecidedCount)
}

interface CanaryRows {
  /** Canaries of the active deployment, not yet promoted. */
  readonly active: readonly AllocationRow[]
  /** Canaries of failed or cancelled deployments; they are stopped. */
  readonly stale: readonly AllocationRow[]
  /** All other allocations, including promoted canaries. */
  readonly others: readonly AllocationRow[]
}

interface SplitCanariesOptions {
  readonly rollout: DeploymentState
  readonly findDeployment: (id: string) => Deployment | undefined
}

export function splitCanaries(
  rows: readonly AllocationRow[],
  groupName: string,
  { rollout, findDeployment }: SplitCanariesOptions,
): CanaryRows {
  const active: AllocationRow[] = []
  const stale: AllocationRow[] = []
  const others: AllocationRow[] = []
  const { current, isFailed } = rollout
  for (const row of rows) {
    if (row.DeploymentStatus?.Canary !== true || isServerTerminal(row)) {
      others.push(row)
      continue
    }
    const isOfCurrent = current !== undefined && row.DeploymentID === current.ID
    const deployment = isOfCurrent ? current : findDeployment(row.DeploymentID ?? '')
    const state = groupStateOf(deployment, groupName)
    // Without its deployment record, a canary counts as a normal allocation.
    if (state === undefined || state.Promoted) others.push(row)
    else if (isOfCurrent && !isFailed) active.push(row)
    else stale.push(row)
  }
  return { active, stale, others }
}

interface CanaryIndexOptions {
  readonly wanted: number
  /** Allocations to replace; canaries take their name indexes. */
  readonly destructive: readonly AllocationRow[]
  /** Allocations that hold a name index. */
  readonly taken: readonly AllocationRow[]
  readonly canaries: readonly AllocationRow[]
  readonly count: number
}

/**
 * Name indexes for canaries: those of allocations to replace, then free ones, then those from the
 * count on.
 */
export function chooseCanaryIndexes(options: CanaryIndexOptions): readonly number[] {
  const { wanted, destructive, taken, canaries, count } = options
  if (wanted <= 0) return []
  const used = new Set(canaries.map(nameIndexOf))
  const indexes: number[] = []
  const claim = (index: number): void => {
    if (indexes.length >= wanted || used.has(index)) return
    used.add(index)
    indexes.push(index)
  }
  for (const row of destructive) claim(nameIndexOf(row))
  if (indexes.length === wanted) return indexes
  for (const row of taken) used.add(nameIndexOf(row))
  for (let index = 0; index < count + used.size + wanted; index++) claim(index)
  return indexes
}
