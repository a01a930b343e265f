import type { Job, JobEvaluateRequest } from '@reeve/contract'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  isParameterized,
  newEvaluation,
  refusal,
  type AllocationRow,
  type Refusal,
  hasPlacementHold,
  withoutQuarantine,
  invalidInput,
} from '../../model/index.ts'
import { isReschedulingEnabled } from '../../scheduler/index.ts'
import {
  namespacedKey,
  put,
  withDerivedRows,
  type Change,
  type Stamp,
  type Author,
} from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'
import type { JobWriteResult } from './job-commit.ts'

interface EvaluateRequest {
  readonly namespace: string
  readonly jobId: string
  /** Undefined if the request has none: the path names the job. */
  readonly body: JobEvaluateRequest | undefined
}

/** Evaluates a job, whether or not anything has changed. */
export async function evaluateJob(
  { store, ids }: WorkloadContext,
  { by }: Author,
  { namespace, jobId, body }: EvaluateRequest,
): Promise<Result<JobWriteResult, Refusal>> {
  if (body !== undefined && (body.JobID ?? '') === '')
    return invalidInput('Job ID must be specified')
  if (body !== undefined && body.JobID !== jobId) return invalidInput('JobID not same as job name')
  const key = namespacedKey(namespace, jobId)
  const job = store.tables.jobs.find(key)
  if (job === undefined) return err(refusal('job-not-found', 'job not found'))
  if (job.Periodic !== null) return invalidInput("can't evaluate periodic job")
  if (isParameterized(job)) return invalidInput("can't evaluate parameterized job")
  const failed =
    body?.EvalOptions?.ForceReschedule === true
      ? store.tables.allocations.rowsByIndex('job', key).filter(isUnreplacedFailure)
      : []
  const forceable = failed.filter((row) => canForceReschedule(job, row))
  const evalId = ids.uuid()
  const { index, durable } = store.commit({
    by,
    cause: forceable.length > 0 ? 'AllocationUpdateDesiredStatus' : 'EvaluationUpdated',
    changes: (stamp) =>
      withDerivedRows(store.tables, [
        ...forceable.map((row) => withForcedReschedule(row, stamp)),
        evaluationRow(job, evalId, stamp),
      ]),
  })
  await durable
  return ok({
    evalId,
    evalCreateIndex: index,
    jobModifyIndex: job.JobModifyIndex,
    index,
    warnings: rescheduleWarnings(job, failed),
  })
}

/** Reports whether an allocation has failed and has no replacement. */
function isUnreplacedFailure(row: AllocationRow): boolean {
  return row.ClientStatus === 'failed' && (row.NextAllocation ?? '') === ''
}

/**
 * Reports whether rescheduling can be forced: only in a group that reschedules at all. The limit
 * and the delay of its policy are skipped.
 */
function canForceReschedule(job: Job, row: AllocationRow): boolean {
  const group = job.TaskGroups.find(({ Name }) => Name === row.TaskGroup)
  return (
    isReschedulingEnabled(group?.ReschedulePolicy ?? null) &&
    row.DesiredTransition?.ForceReschedule !== true
  )
}

/** Returns warnings for groups that never reschedule failed allocations. */
function rescheduleWarnings(job: Job, failed: readonly AllocationRow[]): readonly string[] {
  const names = new Set(failed.map((row) => row.TaskGroup))
  return job.TaskGroups.filter(
    ({ Name, ReschedulePolicy: policy }) =>
      // Without a policy it is a system job, which replaces failed allocations at every evaluation.
      names.has(Name) && policy !== null && !isReschedulingEnabled(policy),
  ).map(
    ({ Name }) =>
      `Group ${JSON.stringify(Name)} has rescheduling disabled: ` +
      'its failed allocations are not placed again',
  )
}

function withForcedReschedule(row: AllocationRow, stamp: Stamp): Change {
  return put('allocations', {
    ...row,
    DesiredTransition: { ...row.DesiredTransition, ForceReschedule: true },
    AllocModifyIndex: stamp.index,
    ModifyTime: nsFromMs(stamp.timeMs),
  })
}

function evaluationRow(job: Job, id: string, { timeMs }: Stamp): Change {
  const { JobModifyIndex: jobModifyIndex } = job
  return put(
    'evaluations',
    newEvaluation(job, { id, trigger: 'job-register', timeMs, jobModifyIndex }),
  )
}

interface ReleaseRequest {
  readonly namespace: string
  readonly jobId: string
}

/**
 * Ends the quarantine of a job, or the delay of its placements after the loss of a node, and
 * evaluates it. The losses so far no longer count against it (decision 0061).
 */
export async function releaseJob(
  { store, ids }: WorkloadContext,
  { by }: Author,
  { namespace, jobId }: ReleaseRequest,
): Promise<Result<JobWriteResult, Refusal>> {
  const job = store.tables.jobs.find(namespacedKey(namespace, jobId))
  if (job === undefined) return err(refusal('job-not-found', 'job not found'))
  if (!hasPlacementHold(job))
    return err(
      refusal(
        'job-not-quarantined',
        `job "${jobId}" is not quarantined and its placements are not delayed: ` +
          `see what it waits for with "reeve job explain ${jobId}"`,
      ),
    )
  const evalId = ids.uuid()
  const { JobModifyIndex: jobModifyIndex } = job
  const { index, durable } = store.commit({
    by,
    cause: 'JobReleased',
    changes: ({ timeMs }) =>
      withDerivedRows(store.tables, [
        put('jobs', withoutQuarantine(job)),
        put(
          'evaluations',
          newEvaluation(job, { id: evalId, trigger: 'job-register', timeMs, jobModifyIndex }),
        ),
      ]),
  })
  await durable
  return ok({ evalId, evalCreateIndex: index, jobModifyIndex, index, warnings: [] })
}
