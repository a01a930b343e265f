import {
  Evaluation,
  v1Routes,
  type EvaluationCount,
  type EvaluationDeleteResponse,
} from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { fieldTypeFromSchema } from '../../lang/filter/index.ts'
import {
  allocationStub,
  checkUuid,
  refusal,
  type Refusal,
  invalidInput,
} from '../../model/index.ts'
import type { Store, Table } from '../../state/index.ts'
import {
  deleteEvaluationsByFilter,
  deleteEvaluationsById,
  EVAL_NOT_FOUND,
  explainEvaluation,
  explainJob,
  explainOptions,
  type WorkloadContext,
} from '../../workload/index.ts'
import { json } from '../response.ts'
import { countRows, rowFilter, sliceOptions, workOrigin } from '../list-page.ts'
import {
  read,
  write,
  type Endpoint,
  type WatchedRead,
  type V1Request,
  type WriteResult,
  type WriteRequestOf,
} from './endpoint.ts'
import {
  READ_JOB,
  requestScope,
  permittedScope,
  watchTables,
  filterVisible,
  groupResponse,
  listWatched,
  type RowScan,
  scanByIdPrefix,
  watchRow,
} from './reads.ts'
import { allowAll, inNamespace, management } from './access.ts'
import { responseMeta } from './responses.ts'

const EVALUATION_FILTER = { rowType: fieldTypeFromSchema(Evaluation) }

export function evaluationEndpoints(context: WorkloadContext): readonly Endpoint[] {
  const { store } = context
  return [
    read(v1Routes.listEvaluations, inNamespace('read-job'), (request) =>
      listEvaluations(store, request),
    ),
    read(v1Routes.countEvaluations, inNamespace('read-job'), (request) =>
      countEvaluations(store, request),
    ),
    write(v1Routes.deleteEvaluations, management, (request) => deleteEvaluations(context, request)),
    read(v1Routes.readEvaluation, allowAll, (request) => readEvaluation(store, request)),
    read(v1Routes.listEvaluationAllocations, allowAll, (request) =>
      listEvaluationAllocations(store, request),
    ),
  ]
}

function listEvaluations(
  store: Store,
  request: V1Request<typeof v1Routes.listEvaluations>,
): Result<WatchedRead, Refusal> {
  const walk = scanEvaluations(store.tables.evaluations, request, request.query.prefix)
  if (!walk.ok) return walk
  return ok(
    listWatched(watchTables(store, ['evaluations'], requestScope(request, READ_JOB)), () => ({
      scan: walk.value,
      query: request.query,
      filter: EVALUATION_FILTER,
      stub: (row) => row,
    })),
  )
}

/** Walks the evaluations selected by `status` and `job`, in namespaces that the caller may read. */
function scanEvaluations(
  table: Table<Evaluation>,
  { caller, namespace, query }: V1Request<typeof v1Routes.countEvaluations>,
  prefix?: string,
): Result<RowScan<Evaluation>, Refusal> {
  const hasLegacyFilter = (query.status ?? '') !== '' || (query.job ?? '') !== ''
  if (hasLegacyFilter && (query.filter ?? '') !== '')
    return invalidInput('Filter expression cannot be used with other filter parameters')
  const walk = scanByIdPrefix(table, 'eval', prefix)
  if (!walk.ok) return walk
  const isVisible = (row: Evaluation): boolean =>
    (namespace === '*'
      ? caller.grants.allows(row.Namespace, 'read-job')
      : row.Namespace === namespace) &&
    ((query.status ?? '') === '' || row.Status === query.status) &&
    ((query.job ?? '') === '' || row.JobID === query.job)
  return ok(filterVisible(walk.value, isVisible))
}

function countEvaluations(
  store: Store,
  request: V1Request<typeof v1Routes.countEvaluations>,
): Result<WatchedRead, Refusal> {
  const watched = watchTables(store, ['evaluations'], requestScope(request, READ_JOB))
  const walk = scanEvaluations(store.tables.evaluations, request)
  if (!walk.ok) return walk
  const source = {
    ...walk.value,
    filterView: (row: Evaluation) => row,
    filterOptions: EVALUATION_FILTER,
  }
  return ok({
    ...watched,
    respond: async () => {
      const count = await countRows(source, request.query.filter, sliceOptions(request.yieldTurn))
      if (!count.ok) return count
      const body: EvaluationCount = { Count: count.value, ...responseMeta(watched.index()) }
      return ok(json(body))
    },
  })
}

async function deleteEvaluations(
  context: WorkloadContext,
  { caller, body, namespace }: WriteRequestOf<typeof v1Routes.deleteEvaluations>,
): Promise<Result<WriteResult, Refusal>> {
  const ids = body?.EvalIDs ?? []
  const filter = body?.Filter ?? ''
  if (ids.length > 0 && filter !== '')
    return invalidInput('evals cannot be deleted by both ID and filter')
  if (ids.length === 0 && filter === '')
    return invalidInput('evals must be deleted by either ID or filter')
  const matches = rowFilter(filter, EVALUATION_FILTER)
  if (!matches.ok) return matches
  const deleted =
    filter === ''
      ? await deleteEvaluationsById(context, caller, ids)
      : await deleteEvaluationsByFilter(context, caller, { namespace, matches: matches.value })
  if (!deleted.ok) return deleted
  const { count, index } = deleted.value
  const responseBody: EvaluationDeleteResponse = { Count: count, Index: index }
  return ok({ index, response: json(responseBody) })
}

/**
 * Final statuses. A small job is placed by the commit that registers it (decision 0052): a client
 * that waits from the index of its registration would wait until the timeout.
 */
const FINAL_STATUSES: ReadonlySet<string> = new Set(['complete', 'failed', 'canceled', 'cancelled'])

/** Reads one evaluation. Without permission it is reported as not found. */
function readEvaluation(
  store: Store,
  { caller, params, query }: V1Request<typeof v1Routes.readEvaluation>,
): Result<WatchedRead, Refusal> {
  const id = checkUuid('eval', params.eval_id)
  if (!id.ok) return invalidInput(id.error)
  const { evaluations } = store.tables
  const isVisible = (row: Evaluation): boolean => caller.grants.allows(row.Namespace, 'read-job')
  return ok({
    ...watchRow(evaluations, {
      key: id.value,
      isVisible,
      missingIndex: () => store.indexIn('evaluations', permittedScope(caller, READ_JOB)),
    }),
    isFinal: () => {
      const row = evaluations.find(id.value)
      return row !== undefined && isVisible(row) && FINAL_STATUSES.has(row.Status)
    },
    respond: () => {
      const row = evaluations.find(id.value)
      if (row === undefined || !isVisible(row)) return err(EVAL_NOT_FOUND)
      return ok(
        json(query.related === true ? { ...row, RelatedEvals: relatedStubs(store, row) } : row),
      )
    },
  })
}

/**
 * Returns the stubs of the related evaluations: its origin, those it created, and those blocked
 * with it.
 */
function relatedStubs(store: Store, row: Evaluation): object[] {
  const seen = new Set([row.ID])
  const found: object[] = []
  const queue = [row]
  for (const one of queue)
    for (const id of [one.PreviousEval, one.NextEval, one.BlockedEval]) {
      const other = seen.has(id) ? undefined : store.tables.evaluations.find(id)
      if (other === undefined) continue
      seen.add(id)
      queue.push(other)
      found.push(evaluationStub(other))
    }
  return found
}

/** Returns the fields of the contract's EvaluationStub. */
function evaluationStub(row: Evaluation): object {
  const { RelatedEvals: _related, FailedTGAllocs: _failed, PlanAnnotations: _plan, ...rest } = row
  const {
    ClassEligibility: _class,
    QuotaLimitReached: _quota,
    EscapedComputedClass: _escaped,
    AnnotatePlan: _annotate,
    QueuedAllocations: _queued,
    SnapshotIndex: _snapshot,
    JobModifyIndex: _job,
    NodeModifyIndex: _node,
    Wait: _wait,
    ...stub
  } = rest
  return stub
}

function listEvaluationAllocations(
  store: Store,
  { caller, params }: V1Request<typeof v1Routes.listEvaluationAllocations>,
): Result<WatchedRead, Refusal> {
  const id = checkUuid('eval', params.eval_id)
  if (!id.ok) return invalidInput(id.error)
  const { allocations, evaluations } = store.tables
  return ok({
    ...watchTables(store, ['allocations'], permittedScope(caller, READ_JOB)),
    respond: (yieldTurn) => {
      const evaluation = evaluations.find(id.value)
      if (evaluation === undefined || !caller.grants.allows(evaluation.Namespace, 'read-job'))
        return err(EVAL_NOT_FOUND)
      return groupResponse(
        allocations,
        {
          index: 'evaluation',
          group: id.value,
          renderJson: (row) => JSON.stringify(allocationStub(row)),
        },
        yieldTurn,
      )
    },
  })
}

/** Returns the routes that explain placement failures. */
export function explainEndpoints(context: WorkloadContext): readonly Endpoint[] {
  return [
    read(v1Routes.explainJob, inNamespace('read-job'), (request) =>
      explainJobRoute(context, request),
    ),
    read(v1Routes.explainEvaluation, allowAll, (request) =>
      explainEvaluationRoute(context, request),
    ),
  ]
}

function explainJobRoute(
  context: WorkloadContext,
  request: V1Request<typeof v1Routes.explainJob>,
): Result<WatchedRead, Refusal> {
  const { namespace, params, query } = request
  const options = explainOptions(query)
  if (!options.ok) return options
  return ok({
    ...UNWATCHED,
    respond: async () => {
      const name = { namespace, jobId: params.job_id }
      const explanation = await explainJob(context, name, options.value, workOrigin(request))
      return explanation.ok ? ok(json(explanation.value)) : explanation
    },
  })
}

/** Finds an evaluation. Without permission it is reported as not found. */
function explainEvaluationRoute(
  context: WorkloadContext,
  request: V1Request<typeof v1Routes.explainEvaluation>,
): Result<WatchedRead, Refusal> {
  const { caller, params, query } = request
  const id = checkUuid('eval', params.eval_id)
  if (!id.ok) return err(refusal('invalid-input', id.error))
  const options = explainOptions(query)
  if (!options.ok) return options
  return ok({
    ...UNWATCHED,
    respond: async () => {
      const evaluation = context.store.tables.evaluations.find(id.value)
      if (evaluation === undefined || !caller.grants.allows(evaluation.Namespace, 'read-job'))
        return err(EVAL_NOT_FOUND)
      const origin = workOrigin(request)
      return ok(json(await explainEvaluation(context, evaluation, options.value, origin)))
    },
  })
}

/** Explanations depend on the state, and are not blocking. */
const UNWATCHED: Pick<WatchedRead, 'index' | 'watch'> = { index: () => 0, watch: [] }
