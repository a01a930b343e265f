import { setImmediate } from 'node:timers/promises'
import type { Evaluation } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { checkUuid, LIMITS, refusal, type Refusal } from '../model/index.ts'
import {
  isBrokerPaused,
  mayRunAgain,
  namespacedKey,
  remove,
  withJobRows,
  type Author,
  type CommitAuthor,
  type Store,
} from '../state/index.ts'
import type { WorkloadContext } from './context.ts'

export const EVAL_NOT_FOUND: Refusal = refusal('eval-not-found', 'eval not found')

export interface EvaluationsDeleted {
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
  given: readonly string[],
): Promise<Result<EvaluationsDeleted, Refusal>> {
  const { store } = context
  const { deletedEvaluationsMax: max } = LIMITS
  if (given.length > max)
    return invalid(`request includes ${given.length} evaluation IDs, must be ${max} or fewer`)
  const rows = new Map<string, Evaluation>()
  for (const text of given) {
    const id = checkUuid('eval', text)
    if (!id.ok) return invalid(id.error)
    const row = store.tables.evaluations.find(id.value)
    if (row === undefined) return err(EVAL_NOT_FOUND)
    if (isNeeded(context, row)) return invalid(`eval ${row.ID} is not safe to delete`)
    rows.set(row.ID, row)
  }
  if (!isBrokerPaused(store.tables)) return err(BROKER_RUNS)
  const { index, durable } = commitDeletion(store, by, [...rows.values()])
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
): Promise<Result<EvaluationsDeleted, Refusal>> {
  const { store } = context
  let count = 0
  let reached = 0
  let from: string | undefined = ''
  while (from !== undefined) {
    if (!isBrokerPaused(store.tables)) return err(BROKER_RUNS)
    const slice = chooseSlice(context, request, from)
    if (!slice.ok) return slice
    // Use the index of the last commit, not the store's: commits of others may not be durable yet.
    const { index, durable } = commitDeletion(store, count === 0 ? by : 'system', slice.value.rows)
    await durable
    reached = index
    count += slice.value.rows.length
    from = slice.value.next
    await setImmediate()
  }
  return ok({ count, index: reached })
}

const BROKER_RUNS: Refusal = refusal(
  'invalid-input',
  'eval broker is enabled; eval broker must be paused to delete evals',
)

function chooseSlice(
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
    const isOver = examined === ROWS_PER_COMMIT || performance.now() >= sliceEndMs
    if (examined++ > 0 && isOver) return ok({ rows, next: id })
    const row = evaluations.get(id)
    if (namespace !== '*' && row.Namespace !== namespace) continue
    const wanted = matches(row)
    if (!wanted.ok) return wanted
    if (wanted.value && !isNeeded(context, row)) rows.push(row)
  }
  return ok({ rows, next: undefined })
}

/**
 * Reports whether an evaluation is needed: one of its allocations is live, or may still be
 * rescheduled because of it. The evaluations of a purged job are garbage-collected together with
 * its allocations.
 */
function isNeeded({ store, clock }: WorkloadContext, row: Evaluation): boolean {
  const { allocations, jobs } = store.tables
  const job = jobs.find(namespacedKey(row.Namespace, row.JobID))
  if (job === undefined) return allocations.countIn('evaluation', row.ID) > 0
  if (job.Stop || job.Status === 'dead') return false
  return allocations
    .rowsIn('evaluation', row.ID)
    .some(
      (one) =>
        one.ClientStatus === 'running' ||
        one.ClientStatus === 'unknown' ||
        mayRunAgain(one, job, clock.nowMs()),
    )
}

function commitDeletion(store: Store, by: CommitAuthor, rows: readonly Evaluation[]) {
  return store.commit({
    by,
    cause: undefined,
    changes: () =>
      withJobRows(
        store.tables,
        rows.map((row) => remove('evaluations', row.ID)),
      ),
  })
}

function invalid(message: string): Result<never, Refusal> {
  return err(refusal('invalid-input', message))
}
