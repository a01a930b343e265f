import type { Deployment, DeploymentGroupState, Job, UpdateStrategy } from '@reeve/contract'
import { isoFromMs, msFromNs, nsFromMs, ZERO_TIME } from '@reeve/kit/duration.ts'
import { type AllocationRow, isTerminal } from '../allocation/allocation-row.ts'
import { jobSpecChanged, originFieldsOf } from '../job/job.ts'

export interface NewDeploymentOptions {
  readonly id: string
  readonly timeMs: number
  /** Priority of the evaluations that the deployment creates. */
  readonly priority: number
}

/** Creates the deployment of a job version, without groups. The store sets its indexes. */
export function newDeployment(
  job: Job,
  { id, timeMs, priority }: NewDeploymentOptions,
): Deployment {
  return {
    ID: id,
    Namespace: job.Namespace,
    JobID: job.ID,
    JobVersion: job.Version,
    JobModifyIndex: job.ModifyIndex,
    JobSpecModifyIndex: job.JobModifyIndex,
    JobCreateIndex: job.CreateIndex,
    IsMultiregion: job.Multiregion !== null,
    TaskGroups: {},
    Status: 'running',
    StatusDescription: DEPLOYMENT_DESCRIPTIONS.running,
    EvalPriority: priority,
    CreateIndex: 0,
    ModifyIndex: 0,
    CreateTime: nsFromMs(timeMs),
    ModifyTime: nsFromMs(timeMs),
    ...originFieldsOf(job),
  }
}

/** Creates the initial state of a group in a deployment. */
export function newGroupState(update: UpdateStrategy): DeploymentGroupState {
  return {
    AutoRevert: update.AutoRevert,
    AutoPromote: update.AutoPromote,
    ProgressDeadline: update.ProgressDeadline,
    RequireProgressBy: ZERO_TIME,
    Promoted: false,
    PlacedCanaries: null,
    DesiredCanaries: 0,
    DesiredTotal: 0,
    PlacedAllocs: 0,
    HealthyAllocs: 0,
    UnhealthyAllocs: 0,
  }
}

/**
 * Returns the state of a group. Group names come from users, so inherited properties such as
 * `toString` must not match.
 */
export function groupStateOf(
  deployment: Deployment | undefined,
  group: string,
): DeploymentGroupState | undefined {
  if (deployment === undefined || !Object.hasOwn(deployment.TaskGroups, group)) return undefined
  return deployment.TaskGroups[group]
}

/** Returns the deployment with groups replaced or added, sorted by name. */
export function withGroupStates(
  deployment: Deployment,
  states: ReadonlyMap<string, DeploymentGroupState>,
): Deployment {
  const all = new Map([...Object.entries(deployment.TaskGroups), ...states])
  const sorted = [...all].toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
  // Built from entries, because a group may be called `__proto__`.
  return { ...deployment, TaskGroups: Object.fromEntries(sorted) }
}

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
  return Object.values(TaskGroups).some(isAwaitingPromotion)
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

interface DeploymentEnd {
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

/** Restarts the progress deadline of a group whose deadline is already running. */
function resetProgressDeadline(state: DeploymentGroupState, timeMs: number): DeploymentGroupState {
  if (state.ProgressDeadline <= 0 || state.RequireProgressBy === ZERO_TIME) return state
  return { ...state, RequireProgressBy: isoFromMs(timeMs + msFromNs(state.ProgressDeadline)) }
}

/** A group with its effective progress deadline. */
export interface ProgressDeadline {
  readonly group: string
  readonly dueMs: number
}

/**
 * Returns the groups that must make progress: those with too few healthy canaries, or too few
 * healthy allocations. A paused deployment has none.
 *
 * The counters alone are not sufficient: they include a healthy allocation that was lost, besides
 * its replacement. So a group whose counters suffice still has a deadline while one of its live
 * allocations is not healthy: nothing else may be replaced meanwhile, and without a deadline the
 * deployment would never end.
 */
export function progressDeadlines(
  deployment: Deployment,
  findAllocations: () => readonly AllocationRow[],
): readonly ProgressDeadline[] {
  if (deployment.Status === 'paused') return []
  let rows: readonly AllocationRow[] | undefined
  return Object.entries(deployment.TaskGroups).flatMap(([group, state]) => {
    if (state.RequireProgressBy === ZERO_TIME) return []
    const dueMs = Date.parse(state.RequireProgressBy)
    if (!hasEnoughHealthy(state)) return [{ group, dueMs }]
    // Most complete groups have no other allocations, so the rows need not be read.
    if (state.PlacedAllocs <= state.HealthyAllocs) return []
    rows ??= findAllocations()
    const notHealthy = rows.filter((row) => isNotHealthyYet(row, deployment, group))
    if (notHealthy.length === 0) return []
    const sinceMs = notHealthy.map(notHealthySinceMs).reduce((a, b) => Math.max(a, b))
    return [{ group, dueMs: Math.max(dueMs, sinceMs + msFromNs(state.ProgressDeadline)) }]
  })
}

function isNotHealthyYet(row: AllocationRow, deployment: Deployment, group: string): boolean {
  if (row.DeploymentID !== deployment.ID || row.TaskGroup !== group) return false
  return !isTerminal(row) && row.DeploymentStatus?.Healthy !== true
}

/**
 * Returns the time since which an allocation is not healthy. Not its last change: a task that
 * restarts repeatedly would never reach the deadline.
 */
function notHealthySinceMs({ DeploymentStatus: status, CreateTime }: AllocationRow): number {
  const reportedMs = status?.Healthy === false ? Date.parse(status.Timestamp) : Number.NaN
  return Number.isFinite(reportedMs) ? reportedMs : msFromNs(CreateTime)
}

/** Reports whether all groups are promoted and have enough healthy allocations. */
export function isDeploymentHealthy({ TaskGroups }: Pick<Deployment, 'TaskGroups'>): boolean {
  return Object.values(TaskGroups).every(isGroupHealthy)
}

/**
 * Reports whether the canaries of a group are promoted and enough allocations are healthy. A group
 * outside the deployment counts as healthy.
 */
export function isGroupHealthy(state: DeploymentGroupState | undefined): boolean {
  if (state === undefined) return true
  if (isAwaitingPromotion(state)) return false
  return state.HealthyAllocs >= Math.max(state.DesiredTotal, state.DesiredCanaries)
}

function hasEnoughHealthy(state: DeploymentGroupState): boolean {
  const requiredCount = isAwaitingPromotion(state) ? state.DesiredCanaries : state.DesiredTotal
  return state.HealthyAllocs >= requiredCount
}

export function pauseDeployment(deployment: Deployment, timeMs: number): Deployment {
  return {
    ...deployment,
    Status: 'paused',
    StatusDescription: DEPLOYMENT_DESCRIPTIONS.paused,
    ModifyTime: nsFromMs(timeMs),
  }
}

/** Resumes a deployment; the pause does not count against progress deadlines. */
export function resumeDeployment(deployment: Deployment, timeMs: number): Deployment {
  const states = Object.entries(deployment.TaskGroups).map(
    ([group, state]) => [group, resetProgressDeadline(state, timeMs)] as const,
  )
  return {
    ...withGroupStates(deployment, new Map(states)),
    Status: 'running',
    StatusDescription: runningDescription(deployment),
    ModifyTime: nsFromMs(timeMs),
  }
}

/** Outcome for a job whose deployment failed. */
interface RollbackDecision {
  /** The version to register again; undefined if there is none. */
  readonly target: Job | undefined
  /** Suffix of the failure's text. */
  readonly suffix: string
}

/** Reports whether the job's current version is the one of the deployment. */
export function isCurrentDeployment(
  deployment: Pick<Deployment, 'JobVersion' | 'JobCreateIndex'>,
  job: Job,
): boolean {
  const { JobVersion, JobCreateIndex } = deployment
  return !job.Stop && job.Version === JobVersion && job.CreateIndex === JobCreateIndex
}

/**
 * Decides the rollback to the newest stable version. One with the same specification would fail
 * again. `versions` are those of the job, oldest first; versions left from a purged job with the
 * same ID do not count.
 */
export function decideRollback(current: Job, versions: readonly Job[]): RollbackDecision {
  const stable = versions.findLast(
    ({ Stable, Stop, CreateIndex }) => Stable && !Stop && CreateIndex === current.CreateIndex,
  )
  if (stable === undefined)
    return { target: undefined, suffix: ROLLBACK_DESCRIPTIONS.noStableVersion }
  if (!jobSpecChanged(current, stable))
    return { target: undefined, suffix: ROLLBACK_DESCRIPTIONS.sameSpecification(stable.Version) }
  return { target: stable, suffix: ROLLBACK_DESCRIPTIONS.rollsBack(stable.Version) }
}

type FindAllocation = (id: string) => AllocationRow | undefined

/** Returns the groups with canaries that are not promoted, sorted by name. */
export function groupsAwaitingPromotion({ TaskGroups }: Deployment): readonly string[] {
  return Object.entries(TaskGroups)
    .filter(([, state]) => isAwaitingPromotion(state))
    .map(([name]) => name)
}

/** Reports whether the group has canaries that are not promoted yet. */
export function isAwaitingPromotion(state: DeploymentGroupState | undefined): boolean {
  return state !== undefined && state.DesiredCanaries > 0 && !state.Promoted
}

/** Returns the live healthy canaries of a group. */
export function healthyCanaries(
  deployment: Deployment,
  group: string,
  findAllocation: FindAllocation,
): readonly AllocationRow[] {
  const ids = groupStateOf(deployment, group)?.PlacedCanaries ?? []
  return ids.flatMap((id) => {
    const row = findAllocation(id)
    const isHealthy =
      row !== undefined && !isTerminal(row) && row.DeploymentStatus?.Healthy === true
    return isHealthy ? [row] : []
  })
}

/** Returns the reasons why the groups cannot be promoted; empty if they can. */
export function promotionProblems(
  deployment: Deployment,
  groups: readonly string[],
  findAllocation: FindAllocation,
): readonly string[] {
  return groups.flatMap((group) => {
    const requiredCount = groupStateOf(deployment, group)?.DesiredCanaries ?? 0
    const healthyCount = healthyCanaries(deployment, group, findAllocation).length
    return healthyCount < requiredCount
      ? [`Task group "${group}" has ${healthyCount}/${requiredCount} healthy allocations`]
      : []
  })
}

/**
 * Reports whether the deployment promotes its canaries automatically now: every group with canaries
 * has `auto_promote`, and all of them are healthy.
 */
export function shouldAutoPromote(deployment: Deployment, findAllocation: FindAllocation): boolean {
  if (deployment.Status !== 'running') return false
  if (!awaitsPromotion(deployment) || !isAutoPromote(deployment)) return false
  const groups = groupsAwaitingPromotion(deployment)
  // Checked first: the counters are cheap and nearly always decide.
  const haveEnoughHealthy = groups.every((group) => {
    const state = groupStateOf(deployment, group)
    return state !== undefined && state.HealthyAllocs >= state.DesiredCanaries
  })
  return haveEnoughHealthy && promotionProblems(deployment, groups, findAllocation).length === 0
}

/** Returns the deployment with these groups promoted and their progress deadlines restarted. */
export function promoteGroups(
  deployment: Deployment,
  groups: readonly string[],
  timeMs: number,
): Deployment {
  const states = groups.flatMap((group) => {
    const state = groupStateOf(deployment, group)
    if (state === undefined) return []
    return [[group, { ...resetProgressDeadline(state, timeMs), Promoted: true }] as const]
  })
  const next = withGroupStates(deployment, new Map(states))
  return {
    ...next,
    StatusDescription:
      next.Status === 'running' ? runningDescription(next) : next.StatusDescription,
    ModifyTime: nsFromMs(timeMs),
  }
}
