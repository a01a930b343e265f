import type { Job, JobEvaluateRequest } from '@reeve/contract'
import { nsFromMs } from '../../kit/duration.ts'
import { err, ok, type Result } from '../../kit/result.ts'
import {
  isParameterized,
  newEvaluation,
  refusal,
  type AllocationRow,
  type Refusal,
} from '../../model/index.ts'
import { namespacedKey, put, withJobRows, type Change, type Stamp } from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'
import type { JobWritten } from './register.ts'

export interface EvaluateRequest {
  readonly namespace: string
  readonly jobId: string
  /** Undefined when the request has none: the path names the job. */
  readonly body: JobEvaluateRequest | undefined
}

/** Spec W: Create evaluation. The scheduling logic runs, whether or not anything changed. */
export async function evaluateJob(
  { store, ids }: WorkloadContext,
  { namespace, jobId, body }: EvaluateRequest,
): Promise<Result<JobWritten, Refusal>> {
  if (body !== undefined && (body.JobID ?? '') === '') return invalid('Job ID must be specified')
  if (body !== undefined && body.JobID !== jobId) return invalid('JobID not same as job name')
  const key = namespacedKey(namespace, jobId)
  const job = store.tables.jobs.find(key)
  if (job === undefined) return err(refusal('job-not-found', 'job not found'))
  if (job.Periodic !== null) return invalid("can't evaluate periodic job")
  if (isParameterized(job)) return invalid("can't evaluate parameterized job")
  const forced =
    body?.EvalOptions?.ForceReschedule === true
      ? store.tables.allocations.rowsIn('job', key).filter((row) => mayBeForced(job, row))
      : []
  const evalId = ids.uuid()
  const { index, durable } = store.commit({
    cause: forced.length > 0 ? 'AllocationUpdateDesiredStatus' : 'EvaluationUpdated',
    changes: (stamp) =>
      withJobRows(store.tables, [
        ...forced.map((row) => forcedRow(row, stamp)),
        evaluationRow(job, evalId, stamp),
      ]),
  })
  await durable
  return ok({
    evalId,
    evalCreateIndex: index,
    jobModifyIndex: job.JobModifyIndex,
    index,
    warnings: [],
  })
}

/**
 * Scheduling reference §12: failed and not yet replaced, of a group that places failed ones again
 * at all. Its limit and its delay are what the caller wants to pass over.
 */
function mayBeForced(job: Job, row: AllocationRow): boolean {
  const group = job.TaskGroups.find(({ Name }) => Name === row.TaskGroup)
  const policy = group?.ReschedulePolicy ?? null
  return (
    policy !== null &&
    (policy.Unlimited || policy.Attempts > 0) &&
    row.ClientStatus === 'failed' &&
    (row.NextAllocation ?? '') === '' &&
    row.DesiredTransition?.ForceReschedule !== true
  )
}

function forcedRow(row: AllocationRow, stamp: Stamp): Change {
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

function invalid(message: string): Result<never, Refusal> {
  return err(refusal('invalid-input', message))
}
