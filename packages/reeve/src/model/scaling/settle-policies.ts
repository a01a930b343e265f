import type { Job, ScalingPolicy, Task, TaskGroup } from '@reeve/contract'
import type { IdSource } from '@reeve/kit/clock.ts'
import { isEqual } from '../deep-equal.ts'

/** A job whose scaling policies have IDs, with the changes of the stored policies. */
export interface PolicyChanges {
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
