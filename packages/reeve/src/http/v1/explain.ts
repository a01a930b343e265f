import { v1Routes } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { checkUuid, refusal, type Refusal } from '../../model/index.ts'
import {
  EVAL_NOT_FOUND,
  explainEvaluation,
  explainJob,
  explainOptions,
  type WorkloadContext,
} from '../../workload/index.ts'
import { json } from '../answer.ts'
import { read, type Endpoint, type WatchedRead, type V1Request } from './endpoint.ts'
import { allowAll, inNamespace } from './requirements.ts'
import { workOrigin } from '../slices.ts'

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
    ...DURABLE_STATE,
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
    ...DURABLE_STATE,
    respond: async () => {
      const evaluation = context.store.tables.evaluations.find(id.value)
      if (evaluation === undefined || !caller.grants.allows(evaluation.Namespace, 'read-job'))
        return err(EVAL_NOT_FOUND)
      const origin = workOrigin(request)
      return ok(json(await explainEvaluation(context, evaluation, options.value, origin)))
    },
  })
}

/**
 * Explanations are not blocking, but depend on the state: declaring the tables delays the response
 * until that state is durable.
 */
const DURABLE_STATE: Pick<WatchedRead, 'index' | 'watch'> = {
  index: () => 0,
  watch: [{ table: 'nodes' }, { table: 'allocations' }],
}
