import type {
  Job,
  JobScaleStatus,
  ScalingEvent,
  ScalingPolicy,
  Task,
  TaskGroup,
  TaskGroupScaleStatus,
} from '@reeve/contract'
import type { IdSource } from '@reeve/kit/clock.ts'
import { type AllocationRow, isTerminal } from '../allocation/allocation-row.ts'
import { isEqual } from '../deep-equal.ts'
import { LIMITS } from '../limits.ts'

/** A scaling request. */
export interface ScaleAction {
  readonly group: string
  /** Undefined if only an event is recorded. */
  readonly count: number | undefined
  readonly message: string
  readonly isError: boolean
  readonly meta: Readonly<Record<string, unknown>> | null
}

/** Returns the problem of a request, independent of the job; the texts are part of the contract. */
export function scaleRequestProblem(action: ScaleAction): string | undefined {
  const { count } = action
  if (action.group === '') return 'missing task group name for scaling action'
  if (count !== undefined && count < 0) return "scaling action count can't be negative"
  if (count !== undefined && action.isError)
    return 'scaling action should not contain count if error is true'
  if (count !== undefined && count > Number.MAX_SAFE_INTEGER)
    return `new scaling count is too large for TaskGroup.Count (int): ${count}`
  // Message or Error is required; `Error: false` does not count.
  if (action.message === '' && !action.isError)
    return 'scaling action needs a message or an error: one of Message or Error must be provided'
  const size = JSON.stringify([action.message, action.meta]).length
  return size > LIMITS.scalingEventCharsMax
    ? `message and meta of a scaling action exceed maximum size; ${size} > ${LIMITS.scalingEventCharsMax}`
    : undefined
}

/**
 * Returns the reason why a group of the job cannot have the count; undefined if it can. The order
 * of the checks is part of the contract, because clients match the messages.
 */
export function scaleTargetProblem(job: Job, action: ScaleAction): string | undefined {
  const { count } = action
  if (job.Type === 'system' && (count ?? 0) > 1)
    return 'jobs of type "system" can only be scaled between 0 and 1'
  const group = job.TaskGroups.find(({ Name }) => Name === action.group)
  if (group === undefined)
    return `task group ${JSON.stringify(action.group)} specified for scaling does not exist in job`
  return count === undefined
    ? undefined
    : (boundsProblem(group, count) ?? totalProblem(job, action))
}

function boundsProblem({ Scaling: policy }: TaskGroup, count: number): string | undefined {
  if (policy === null) return undefined
  if (count < policy.Min)
    return `group count was less than scaling policy minimum: ${count} < ${policy.Min}`
  if (count > policy.Max)
    return `group count was greater than scaling policy maximum: ${count} > ${policy.Max}`
  return undefined
}

function totalProblem(job: Job, action: ScaleAction): string | undefined {
  const total = withCount(job, action).TaskGroups.reduce((sum, group) => sum + group.Count, 0)
  return total > LIMITS.jobCountMax
    ? `total count was greater than configured job_max_count: ${total} > ${LIMITS.jobCountMax}`
    : undefined
}

/** Returns the job with the count in the group; the same object if nothing changes. */
export function withCount(job: Job, { group, count }: ScaleAction): Job {
  const needsChange = (one: TaskGroup): boolean => one.Name === group && one.Count !== count
  if (count === undefined || !job.TaskGroups.some(needsChange)) return job
  const groups = job.TaskGroups.map((one) => (needsChange(one) ? { ...one, Count: count } : one))
  return { ...job, TaskGroups: groups }
}

/**
 * Counts the live allocations of the current registration, without canaries, which are not part of
 * the count.
 */
export function scaleStatus(
  job: Job,
  allocations: readonly AllocationRow[],
  eventsOf: (group: string) => readonly ScalingEvent[],
): JobScaleStatus {
  const counted = allocations.filter(
    (row) =>
      row.CreateIndex >= job.CreateIndex &&
      !isTerminal(row) &&
      row.DeploymentStatus?.Canary !== true,
  )
  const ofGroup = Map.groupBy(counted, (row) => row.TaskGroup)
  const groups = job.TaskGroups.map(({ Name, Count }) => {
    const events = eventsOf(Name)
    const status: TaskGroupScaleStatus = {
      Desired: Count,
      ...countsOf(ofGroup.get(Name) ?? []),
      Events: events.length === 0 ? null : events,
    }
    return [Name, status] as const
  })
  return {
    JobID: job.ID,
    Namespace: job.Namespace,
    JobCreateIndex: job.CreateIndex,
    JobModifyIndex: job.ModifyIndex,
    JobStopped: job.Stop,
    TaskGroups: Object.fromEntries(groups),
  }
}

function countsOf(rows: readonly AllocationRow[]) {
  const counts = { Placed: rows.length, Running: 0, Healthy: 0, Unhealthy: 0 }
  for (const row of rows) {
    if (row.ClientStatus === 'running') counts.Running += 1
    if (row.DeploymentStatus?.Healthy === true) counts.Healthy += 1
    if (row.DeploymentStatus?.Healthy === false) counts.Unhealthy += 1
  }
  return counts
}

/** The latest scaling events of one group, kept across versions of its job. */
export interface ScalingEventsRow {
  readonly Namespace: string
  readonly JobID: string
  readonly Group: string
  /** Newest first. */
  readonly Events: readonly ScalingEvent[]
  readonly CreateIndex: number
  readonly ModifyIndex: number
}

/** Prepends an event; the oldest is dropped beyond the limit. */
export function withScalingEvent(
  before: readonly ScalingEvent[],
  event: ScalingEvent,
): readonly ScalingEvent[] {
  return [event, ...before].slice(0, LIMITS.scalingEventsMax)
}

/** A job whose scaling policies have IDs, with the changes of the stored policies. */
interface PolicyChanges {
  readonly job: Job
  /** New and changed policies. */
  readonly changed: readonly ScalingPolicy[]
  /** IDs of policies that the job no longer has. */
  readonly removed: readonly string[]
}

/**
 * Assigns IDs to scaling policies at registration; a policy keeps its ID while its target is
 * unchanged. IDs set by the caller are ignored: they might belong to another job. The policies of a
 * stopped job are stored as disabled, while the job keeps the submitted value.
 */
export function assignPolicyIds(
  job: Job,
  stored: readonly ScalingPolicy[],
  ids: IdSource,
): PolicyChanges {
  const unmatched = Map.groupBy(stored, targetKey)
  const changed: ScalingPolicy[] = []
  const assignId = (policy: ScalingPolicy): ScalingPolicy => {
    const existing = unmatched.get(targetKey(policy))?.shift()
    const ID = existing?.ID ?? ids.uuid()
    const CreateIndex = existing?.CreateIndex ?? job.JobModifyIndex
    const identity = { ID, CreateIndex, ModifyIndex: existing?.ModifyIndex ?? 0 }
    const row = { ...policy, ...identity, Enabled: policy.Enabled && !job.Stop }
    if (existing !== undefined && isEqual(existing, row)) return { ...policy, ...identity }
    const newIdentity = { ...identity, ModifyIndex: job.JobModifyIndex }
    changed.push({ ...row, ...newIdentity })
    return { ...policy, ...newIdentity }
  }
  const groups = job.TaskGroups.map((group) => mapGroupPolicies(group, assignId))
  const removed = [...unmatched.values()].flat().map(({ ID }) => ID)
  return { job: { ...job, TaskGroups: groups }, changed, removed }
}

type PolicyMapper = (policy: ScalingPolicy) => ScalingPolicy

function mapGroupPolicies(group: TaskGroup, mapPolicy: PolicyMapper): TaskGroup {
  const hasTaskPolicies = group.Tasks.some(({ ScalingPolicies }) => ScalingPolicies !== null)
  if (group.Scaling === null && !hasTaskPolicies) return group
  return {
    ...group,
    Scaling: group.Scaling === null ? null : mapPolicy(group.Scaling),
    Tasks: group.Tasks.map((task) => mapTaskPolicies(task, mapPolicy)),
  }
}

function mapTaskPolicies(task: Task, mapPolicy: PolicyMapper): Task {
  if (task.ScalingPolicies === null) return task
  return { ...task, ScalingPolicies: task.ScalingPolicies.map(mapPolicy) }
}

/** Returns the identity of a policy. The canonical form writes targets in one order. */
function targetKey({ Type, Target }: ScalingPolicy): string {
  return JSON.stringify([Type, Target])
}

/** Returns the groups of a child job, whose policies target the child instead of its parent. */
export function retargetPolicies(
  groups: readonly TaskGroup[],
  jobId: string,
): readonly TaskGroup[] {
  const toChild = (policy: ScalingPolicy): ScalingPolicy => ({
    ...policy,
    ID: '',
    Target: { ...policy.Target, Job: jobId },
  })
  return groups.map((group) => mapGroupPolicies(group, toChild))
}
