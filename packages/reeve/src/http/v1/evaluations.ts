import { Evaluation, v1Routes } from '@reeve/contract'
import { err, ok, type Result } from '../../kit/result.ts'
import { fieldKindsFromSchema } from '../../lang/filter/index.ts'
import { allocationStub, checkUuid, refusal, type Refusal } from '../../model/index.ts'
import type { Store } from '../../state/index.ts'
import type { WorkloadContext } from '../../workload/index.ts'
import { json, jsonItems } from '../answer.ts'
import { read, type Endpoint, type ReadPlan, type RequestOf } from './endpoint.ts'
import { listAnswer } from './list-answer.ts'
import { anyone, inNamespace } from './requirements.ts'
import { visible, walkIds } from './walks.ts'

const EVALUATION_FILTER = { kinds: fieldKindsFromSchema(Evaluation) }
const EVAL_NOT_FOUND: Refusal = refusal('eval-not-found', 'eval not found')

/** Reference §8.2, the reads. */
export function evaluationEndpoints({ store }: WorkloadContext): readonly Endpoint[] {
  return [
    read(v1Routes.listEvaluations, inNamespace('read-job'), (request) =>
      listEvaluations(store, request),
    ),
    read(v1Routes.readEvaluation, anyone, (request) => readEvaluation(store, request)),
    read(v1Routes.listEvaluationAllocations, anyone, (request) => listPlaced(store, request)),
  ]
}

type ListRequest = RequestOf<typeof v1Routes.listEvaluations>

function listEvaluations(
  store: Store,
  { caller, namespace, query }: ListRequest,
): Result<ReadPlan, Refusal> {
  const { evaluations } = store.tables
  const hasLegacy = (query.status ?? '') !== '' || (query.job ?? '') !== ''
  if (hasLegacy && (query.filter ?? '') !== '')
    return invalid('Filter expression cannot be used with other filter parameters')
  const walk = walkIds(evaluations, 'eval', query.prefix)
  if (!walk.ok) return walk
  const isVisible = (row: Evaluation): boolean =>
    (namespace === '*'
      ? caller.grants.allows(row.Namespace, 'read-job')
      : row.Namespace === namespace) &&
    ((query.status ?? '') === '' || row.Status === query.status) &&
    ((query.job ?? '') === '' || row.JobID === query.job)
  return ok({
    index: () => evaluations.lastIndex,
    watch: [{ table: 'evaluations' }],
    answer: () =>
      listAnswer({
        walk: visible(walk.value, isVisible),
        query,
        filter: EVALUATION_FILTER,
        stub: (row) => row,
      }),
  })
}

/** Reference §6.8: without permission an evaluation reads as not found. */
function readEvaluation(
  store: Store,
  { caller, params, query }: RequestOf<typeof v1Routes.readEvaluation>,
): Result<ReadPlan, Refusal> {
  const id = checkUuid('eval', params.eval_id)
  if (!id.ok) return invalid(id.error)
  const { evaluations } = store.tables
  return ok({
    index: () => evaluations.modifyIndexOf(id.value) ?? evaluations.lastIndex,
    watch: [{ table: 'evaluations', key: id.value }],
    answer: () => {
      const row = evaluations.find(id.value)
      if (row === undefined || !caller.grants.allows(row.Namespace, 'read-job'))
        return err(EVAL_NOT_FOUND)
      return ok(json(query.related === true ? { ...row, RelatedEvals: related(store, row) } : row))
    },
  })
}

/** The evaluations this one came from, made, or waits with. */
function related(store: Store, row: Evaluation): object[] {
  const seen = new Set([row.ID])
  const found: object[] = []
  const queue = [row]
  for (const one of queue)
    for (const id of [one.PreviousEval, one.NextEval, one.BlockedEval]) {
      const other = seen.has(id) ? undefined : store.tables.evaluations.find(id)
      if (other === undefined) continue
      seen.add(id)
      queue.push(other)
      found.push(stubOf(other))
    }
  return found
}

/** The fields of the contract's EvaluationStub. */
function stubOf(row: Evaluation): object {
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

function listPlaced(
  store: Store,
  { caller, params }: RequestOf<typeof v1Routes.listEvaluationAllocations>,
): Result<ReadPlan, Refusal> {
  const id = checkUuid('eval', params.eval_id)
  if (!id.ok) return invalid(id.error)
  const { allocations, evaluations } = store.tables
  return ok({
    index: () => allocations.lastIndex,
    watch: [{ table: 'allocations' }],
    answer: () => {
      const evaluation = evaluations.find(id.value)
      if (evaluation === undefined || !caller.grants.allows(evaluation.Namespace, 'read-job'))
        return err(EVAL_NOT_FOUND)
      const rows = allocations.rowsIn('evaluation', id.value)
      return ok(jsonItems(rows.map((row) => JSON.stringify(allocationStub(row)))))
    },
  })
}

function invalid(message: string): Result<never, Refusal> {
  return err(refusal('invalid-input', message))
}
