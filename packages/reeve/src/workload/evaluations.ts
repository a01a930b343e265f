import { setImmediate } from 'node:timers/promises'
import type { Evaluation, Job, JobEvaluateRequest } from '@reeve/contract'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  type AllocationRow,
  checkUuid,
  hasPlacementHold,
  invalidInput,
  isParameterized,
  LIMITS,
  newEvaluation,
  refusal,
  type Refusal,
  withoutQuarantine,
} from '../model/index.ts'
import { isReschedulingEnabled } from '../scheduler/index.ts'
import {
  isBrokerPaused,
  mayBeRescheduled,
  namespacedKey,
  remove,
  withDerivedRows,
  type Author,
  type CommitAuthor,
  type Store,
  put,
  type Change,
  type Stamp,
} from '../state/index.ts'
import type { WorkloadContext } from './context.ts'
import type { JobWriteResult } from './jobs/job-commit.ts'

export const EVAL_NOT_FOUND: Refusal = refusal('eval-not-found', 'eval not found')

interface DeleteEvaluationsResult {
  readonly count: number
  readonly index: number
}

/** Maximum number of rows examined, and so deleted, in one commit. */
const ROWS_PER_COMMIT = 500

/**
 * Deletes evaluations by ID. All or none: the request is refused if one does not exist or is still
 * needed.
 */
export async function deleteEvaluationsById(
  context: WorkloadContext,
  { by }: Author,
  evaluationIds: readonly string[],
): Promise<Result<DeleteEvaluationsResult, Refusal>> {
  const { store } = context
  const { deletedEvaluationsMax: max } = LIMITS
  if (evaluationIds.length > max)
    return invalidInput(
      `request includes ${evaluationIds.length} evaluation IDs, must be ${max} or fewer`,
    )
  if (!isBrokerPaused(store.tables)) return err(BROKER_NOT_PAUSED)
  const rows = new Map<string, Evaluation>()
  for (const text of evaluationIds) {
    const id = checkUuid('eval', text)
    if (!id.ok) return invalidInput(id.error)
    const row = store.tables.evaluations.find(id.value)
    if (row === undefined) return err(EVAL_NOT_FOUND)
    if (isInUse(context, row)) return invalidInput(`eval ${row.ID} is not safe to delete`)
    rows.set(row.ID, row)
  }
  const { index, durable } = deleteRows(store, by, [...rows.values()])
  await durable
  return ok({ count: rows.size, index })
}

interface DeleteByFilter {
  /** One namespace, or `*` for all. */
  readonly namespace: string
  readonly matches: (row: Evaluation) => Result<boolean, Refusal>
}

/** Deletes all evaluations that match a filter, in slices; those still needed are skipped. */
export async function deleteEvaluationsByFilter(
  context: WorkloadContext,
  { by }: Author,
  request: DeleteByFilter,
): Promise<Result<DeleteEvaluationsResult, Refusal>> {
  const { store } = context
  let count = 0
  let lastIndex = 0
  let from: string | undefined = ''
  while (from !== undefined) {
    if (!isBrokerPaused(store.tables)) return err(BROKER_NOT_PAUSED)
    const slice = selectDeletable(context, request, from)
    if (!slice.ok) return slice
    // Use the index of the last commit, not the store's: commits of others may not be durable yet.
    const { index, durable } = deleteRows(store, count === 0 ? by : 'system', slice.value.rows)
    await durable
    lastIndex = index
    count += slice.value.rows.length
    from = slice.value.next
    await setImmediate()
  }
  return ok({ count, index: lastIndex })
}

const BROKER_NOT_PAUSED: Refusal = refusal(
  'invalid-input',
  'eval broker is enabled; eval broker must be paused to delete evals',
)

function selectDeletable(
  context: WorkloadContext,
  { namespace, matches }: DeleteByFilter,
  from: string,
): Result<{ rows: readonly Evaluation[]; next: string | undefined }, Refusal> {
  const { evaluations } = context.store.tables
  const rows: Evaluation[] = []
  const sliceEndMs = performance.now() + LIMITS.sliceMsMax
  let examined = 0
  for (const id of evaluations.keys(from)) {
    // The first row is always examined, so that a slice makes progress.
    const isSliceFull = examined === ROWS_PER_COMMIT || performance.now() >= sliceEndMs
    if (examined++ > 0 && isSliceFull) return ok({ rows, next: id })
    const row = evaluations.get(id)
    if (namespace !== '*' && row.Namespace !== namespace) continue
    const isMatch = matches(row)
    if (!isMatch.ok) return isMatch
    if (isMatch.value && !isInUse(context, row)) rows.push(row)
  }
  return ok({ rows, next: undefined })
}

/**
 * Reports whether an evaluation is needed: one of its allocations is live, or may still be
 * rescheduled because of it. The evaluations of a purged job are garbage-collected together with
 * its allocations.
 */
function isInUse({ store, clock }: WorkloadContext, row: Evaluation): boolean {
  const { allocations, jobs } = store.tables
  const job = jobs.find(namespacedKey(row.Namespace, row.JobID))
  if (job === undefined) return allocations.countByIndex('evaluation', row.ID) > 0
  if (job.Stop || job.Status === 'dead') return false
  return allocations
    .rowsByIndex('evaluation', row.ID)
    .some(
      (one) =>
        one.ClientStatus === 'running' ||
        one.ClientStatus === 'unknown' ||
        mayBeRescheduled(one, job, clock.nowMs()),
    )
}

function deleteRows(store: Store, by: CommitAuthor, rows: readonly Evaluation[]) {
  return store.commit({
    by,
    cause: undefined,
    changes: () =>
      withDerivedRows(
        store.tables,
        rows.map((row) => remove('evaluations', row.ID)),
      ),
  })
}

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
