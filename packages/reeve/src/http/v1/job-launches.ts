import {
  v1Routes,
  type JobDispatchResponse,
  type JobDispatchRequest,
  type JobWriteResponse,
  type PeriodicForceResponse,
} from '@reeve/contract'
import { formatWarnings } from '@reeve/kit/multi-error.ts'
import { ok, type Result } from '@reeve/kit/result.ts'
import type { Refusal } from '../../model/index.ts'
import {
  dispatchJob,
  evaluateJob,
  forcePeriodicJob,
  releaseJob,
  type JobWritten,
  type WorkloadContext,
} from '../../workload/index.ts'
import { json } from '../answer.ts'
import { write, type Endpoint, type Written, type WriteRequestOf } from './endpoint.ts'
import { inNamespace } from './requirements.ts'
import { responseMeta } from './response-meta.ts'

const mayDispatch = inNamespace('dispatch-job')
const mayForce = inNamespace('dispatch-job', 'submit-job', 'force-periodic-job')
const mayEvaluate = inNamespace('submit-job', 'evaluate-job')

export function jobLaunchEndpoints(context: WorkloadContext): readonly Endpoint[] {
  return [
    write(v1Routes.dispatchJob, mayDispatch, (request) => dispatch(context, request, request.body)),
    // The shell hands on bytes as base64, which is how a payload is written.
    write(v1Routes.dispatchJobPayload, mayDispatch, (request) =>
      dispatch(context, request, { Payload: request.body }),
    ),
    write(v1Routes.forcePeriodicJob, mayForce, (request) => force(context, request)),
    write(v1Routes.evaluateJob, mayEvaluate, (request) => evaluate(context, request)),
    write(v1Routes.releaseJob, inNamespace('submit-job'), (request) => release(context, request)),
  ]
}

async function dispatch(
  context: WorkloadContext,
  request: Omit<WriteRequestOf<typeof v1Routes.dispatchJob>, 'body'>,
  body: JobDispatchRequest | undefined,
): Promise<Result<Written, Refusal>> {
  const { caller, namespace, params, query } = request
  const dispatched = await dispatchJob(context, caller, {
    namespace,
    jobId: params.job_id,
    body,
    idempotencyToken: query.idempotency_token ?? '',
  })
  if (!dispatched.ok) return dispatched
  const { childId, evalId, evalCreateIndex, jobCreateIndex, index, warnings } = dispatched.value
  const answer: JobDispatchResponse = {
    DispatchedJobID: childId,
    EvalID: evalId,
    EvalCreateIndex: evalCreateIndex,
    JobCreateIndex: jobCreateIndex,
    Index: index,
    ...(warnings.length === 0 ? {} : { Warnings: formatWarnings(warnings) }),
  }
  return ok({ index, answer: json(answer) })
}

async function force(
  context: WorkloadContext,
  { caller, namespace, params }: WriteRequestOf<typeof v1Routes.forcePeriodicJob>,
): Promise<Result<Written, Refusal>> {
  const launched = await forcePeriodicJob(context, caller, { namespace, jobId: params.job_id })
  if (!launched.ok) return launched
  const { evalId, index } = launched.value
  const answer: PeriodicForceResponse = { EvalID: evalId, EvalCreateIndex: index, Index: index }
  return ok({ index, answer: json(answer) })
}

async function evaluate(
  context: WorkloadContext,
  { caller, namespace, params, body }: WriteRequestOf<typeof v1Routes.evaluateJob>,
): Promise<Result<Written, Refusal>> {
  const evaluated = await evaluateJob(context, caller, { namespace, jobId: params.job_id, body })
  return evaluated.ok ? ok(jobWritten(evaluated.value)) : evaluated
}

async function release(
  context: WorkloadContext,
  { caller, namespace, params }: WriteRequestOf<typeof v1Routes.releaseJob>,
): Promise<Result<Written, Refusal>> {
  const released = await releaseJob(context, caller, { namespace, jobId: params.job_id })
  return released.ok ? ok(jobWritten(released.value)) : released
}

function jobWritten(written: JobWritten): Written {
  const { evalId, evalCreateIndex, jobModifyIndex, index, warnings } = written
  const answer: JobWriteResponse = {
    EvalID: evalId,
    EvalCreateIndex: evalCreateIndex,
    JobModifyIndex: jobModifyIndex,
    Warnings: formatWarnings(warnings),
    ...responseMeta(index),
  }
  return { index, answer: json(answer) }
}
