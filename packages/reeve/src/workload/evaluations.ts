import { setImmediate } from 'node:timers/promises'
import type { Evaluation } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { checkUuid, LIMITS, refusal, type Refusal } from '../model/index.ts'
import {
  isBrokerPaused,
  mayBeRescheduled,
  namespacedKey,
  remove,
  withDerivedRows,
  type Author,
  type CommitAuthor,
  type Store,
} from '../state/index.ts'
import type { WorkloadContext } from './context.ts'

export const EVAL_NOT_FOUND: Refusal = refusal('eval-not-found', 'eval not found')

export interface DeleteEvaluationsResult {
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
    return invalid(
      `request includes ${evaluationIds.length} evaluation IDs, must be ${max} or fewer`,
    )
  if (!isBrokerPaused(store.tables)) return err(BROKER_NOT_PAUSED)
  const rows = new Map<string, Evaluation>()
  for (const text of evaluationIds) {
    const id = checkUuid('eval', text)
    if (!id.ok) return invalid(id.error)
    const row = store.tables.evaluations.find(id.value)
    if (row === undefined) return err(EVAL_NOT_FOUND)
    if (isInUse(context, row)) return invalid(`eval ${row.ID} is not safe to delete`)
    rows.set(row.ID, row)
  }
  const { index, durable } = deleteRows(store, by, [...rows.values()])
  await durable
  return ok({ count: rows.size, index })
}

export interface DeleteByFilter {
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

function invalid(message: string): Result<never, Refusal> {
  return err(refusal('invalid-input', message))
}
