import type { Job, ScalingPolicy, TaskGroup } from '@reeve/contract'
import { isEqual } from '../deep-equal.ts'

/**
 * Reports whether the specifications of two canonical jobs differ, so that the second is a new
 * version of the first. Fields set by servers are ignored.
 */
export function jobSpecChanged(a: Job, b: Job): boolean {
  return !isEqual(specOf(a), specOf(b))
}

function specOf(job: Job): Partial<Job> {
  const {
    Status: _status,
    StatusDescription: _statusDescription,
    Stable: _stable,
    Version: _version,
    VersionTag: _versionTag,
    SubmitTime: _submitTime,
    ServiceTokenID: _serviceTokenId,
    CreateIndex: _createIndex,
    ModifyIndex: _modifyIndex,
    JobModifyIndex: _jobModifyIndex,
    Quarantine: _quarantine,
    NodeLosses: _nodeLosses,
    SubmittedBy: _submittedBy,
    Origin: _origin,
    Message: _message,
    ...spec
  } = job
  return { ...spec, TaskGroups: job.TaskGroups.map(withoutScalingIds) }
}

/**
 * Removes the IDs of scaling policies, which are assigned at registration and kept across versions.
 */
function withoutScalingIds(group: TaskGroup): TaskGroup {
  const withoutId = (policy: ScalingPolicy): ScalingPolicy => ({
    ...policy,
    ID: '',
    CreateIndex: 0,
    ModifyIndex: 0,
  })
  return {
    ...group,
    Scaling: group.Scaling === null ? null : withoutId(group.Scaling),
    Tasks: group.Tasks.map((task) => ({
      ...task,
      ScalingPolicies: task.ScalingPolicies?.map(withoutId) ?? null,
    })),
  }
}

/**
 * Returns the reason why a job may not replace the stored one of the same ID, or be the first
 * version; undefined if it may. The texts are part of the contract.
 */
export function jobUpdateProblem(before: Job | undefined, after: Job): string | undefined {
  if (before === undefined)
    return after.Dispatched ? "job can't be submitted with 'Dispatched' set" : undefined
  if (before.Type !== after.Type)
    return `cannot update job from type "${before.Type}" to "${after.Type}"`
  const [wasPeriodic, isPeriodic] = [before.Periodic !== null, after.Periodic !== null]
  if (wasPeriodic && !isPeriodic) return 'cannot update periodic job to being non-periodic'
  if (!wasPeriodic && isPeriodic) return 'cannot update non-periodic job to being periodic'
  const [tookParameters, takesParameters] = [isParameterized(before), isParameterized(after)]
  if (tookParameters && !takesParameters)
    return 'cannot update parameterized job to being non-parameterized'
  if (!tookParameters && takesParameters)
    return 'cannot update non-parameterized job to being parameterized'
  return before.Dispatched === after.Dispatched ? undefined : "field 'Dispatched' is read-only"
}

/**
 * Reports whether children can be dispatched from a job; a dispatched child has the block too, but
 * is not parameterized itself.
 */
export function isParameterized(job: Job): boolean {
  return job.ParameterizedJob !== null && !job.Dispatched
}

/** Reports whether a job runs only through its children: periodic or dispatched ones. */
export function isParent(job: Job): boolean {
  return job.Periodic !== null || isParameterized(job)
}
