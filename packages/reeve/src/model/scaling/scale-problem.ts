import type { Job, TaskGroup } from '@reeve/contract'
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
  // One of them is required; an error flag that is false does not count.
  if (action.message === '' && !action.isError)
    return 'scaling action needs a message or an error: one of Message or Error must be provided'
  const size = JSON.stringify([action.message, action.meta]).length
  return size > LIMITS.scalingEventCharsMax
    ? `message and meta of a scaling action exceed maximum size; ${size} > ${LIMITS.scalingEventCharsMax}`
    : undefined
}

/**
 * Returns the reason why a group of the job cannot have the count; undefined if it can. Checked in
 * the same order as peers do.
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
