import type { Job, ScalingPolicy, Task, TaskGroup } from '@reeve/contract'
import type { IdSource } from '@reeve/kit/clock.ts'
import { isEqual } from '../deep-equal.ts'

/** A job whose scaling policies have IDs, with the changes of the stored policies. */
export interface SettledPolicies {
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
export function settlePolicies(
  job: Job,
  stored: readonly ScalingPolicy[],
  ids: IdSource,
): SettledPolicies {
  const left = Map.groupBy(stored, targetKey)
  const changed: ScalingPolicy[] = []
  const settle = (policy: ScalingPolicy): ScalingPolicy => {
    const known = left.get(targetKey(policy))?.shift()
    const ID = known?.ID ?? ids.uuid()
    const CreateIndex = known?.CreateIndex ?? job.JobModifyIndex
    const kept = { ID, CreateIndex, ModifyIndex: known?.ModifyIndex ?? 0 }
    const row = { ...policy, ...kept, Enabled: policy.Enabled && !job.Stop }
    if (known !== undefined && isEqual(known, row)) return { ...policy, ...kept }
    const written = { ...kept, ModifyIndex: job.JobModifyIndex }
    changed.push({ ...row, ...written })
    return { ...policy, ...written }
  }
  const groups = job.TaskGroups.map((group) => settleGroup(group, settle))
  const removed = [...left.values()].flat().map(({ ID }) => ID)
  return { job: { ...job, TaskGroups: groups }, changed, removed }
}

type Settle = (policy: ScalingPolicy) => ScalingPolicy

function settleGroup(group: TaskGroup, settle: Settle): TaskGroup {
  const hasOwn = group.Tasks.some(({ ScalingPolicies }) => ScalingPolicies !== null)
  if (group.Scaling === null && !hasOwn) return group
  return {
    ...group,
    Scaling: group.Scaling === null ? null : settle(group.Scaling),
    Tasks: group.Tasks.map((task) => settleTask(task, settle)),
  }
}

function settleTask(task: Task, settle: Settle): Task {
  if (task.ScalingPolicies === null) return task
  return { ...task, ScalingPolicies: task.ScalingPolicies.map(settle) }
}

/** Returns the identity of a policy. The canonical form writes targets in one order. */
function targetKey({ Type, Target }: ScalingPolicy): string {
  return JSON.stringify([Type, Target])
}

/** Returns the groups of a child job, whose policies target the child instead of its parent. */
export function retargeted(groups: readonly TaskGroup[], jobId: string): readonly TaskGroup[] {
  const retarget = (policy: ScalingPolicy): ScalingPolicy => ({
    ...policy,
    ID: '',
    Target: { ...policy.Target, Job: jobId },
  })
  return groups.map((group) => settleGroup(group, retarget))
}
