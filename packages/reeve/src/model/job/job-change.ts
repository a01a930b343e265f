import type { Job, ScalingPolicy, TaskGroup } from '@reeve/contract'
import { isEqual } from '../deep-equal.ts'

/**
 * Whether two canonical jobs ask for different things, so that the second is a new version of the
 * first. What servers write is not asked for by anybody.
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

/** Scaling policies get their ids at registration and keep them across versions. */
function withoutScalingIds(group: TaskGroup): TaskGroup {
  const clean = (policy: ScalingPolicy): ScalingPolicy => ({
    ...policy,
    ID: '',
    CreateIndex: 0,
    ModifyIndex: 0,
  })
  return {
    ...group,
    Scaling: group.Scaling === null ? null : clean(group.Scaling),
    Tasks: group.Tasks.map((task) => ({
      ...task,
      ScalingPolicies: task.ScalingPolicies?.map(clean) ?? null,
    })),
  }
}

/**
 * Why a job may not replace the stored one of the same ID, or be the first; undefined when it may.
 * The texts are part of the contract.
 */
export function jobUpdateRefusal(before: Job | undefined, after: Job): string | undefined {
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
 * A job of which children are dispatched; a dispatched child carries the block but is none itself.
 */
export function isParameterized(job: Job): boolean {
  return job.ParameterizedJob !== null && !job.Dispatched
}

/** Only the children of such a job run: by time or by dispatch. */
export function isParent(job: Job): boolean {
  return job.Periodic !== null || isParameterized(job)
}
