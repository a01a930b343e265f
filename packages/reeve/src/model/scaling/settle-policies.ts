import type { Job, ScalingPolicy, Task, TaskGroup } from '@reeve/contract'
import type { IdSource } from '@reeve/kit/clock.ts'
import { isEqual } from '../deep-equal.ts'

/** A job whose scaling policies have their ids, and what that means for the stored policies. */
export interface SettledPolicies {
  readonly job: Job
  /** New ones, and those that say something else now. */
  readonly changed: readonly ScalingPolicy[]
  /** Ids of those that the job no longer has. */
  readonly removed: readonly string[]
}

/**
 * A policy gets its id at registration and keeps it while its target keeps it. What the caller
 * wrote as id does not count: it might be another job's. The policies of a stopped job are
 * disabled, while the job keeps what its user said.
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

/** What a policy is about. The canonical form writes targets in one order. */
function targetKey({ Type, Target }: ScalingPolicy): string {
  return JSON.stringify([Type, Target])
}

/** The groups of a child, whose policies are about the child and not about its parent. */
export function retargeted(groups: readonly TaskGroup[], jobId: string): readonly TaskGroup[] {
  const retarget = (policy: ScalingPolicy): ScalingPolicy => ({
    ...policy,
    ID: '',
    Target: { ...policy.Target, Job: jobId },
  })
  return groups.map((group) => settleGroup(group, retarget))
}
