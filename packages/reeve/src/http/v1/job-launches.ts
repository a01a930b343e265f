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
  type JobWriteResult,
  type WorkloadContext,
} from '../../workload/index.ts'
import { json } from '../answer.ts'
import { write, type Endpoint, type WriteResult, type WriteRequestOf } from './endpoint.ts'
import { inNamespace } from './requirements.ts'
import { responseMeta } from './response-meta.ts'

const mayDispatch = inNamespace('dispatch-job')
const mayForce = inNamespace('dispatch-job', 'submit-job', 'force-periodic-job')
const mayEvaluate = inNamespace('submit-job', 'evaluate-job')

export function jobLaunchEndpoints(context: WorkloadContext): readonly Endpoint[] {
  return [
    write(v1Routes.dispatchJob, mayDispatch, (request) =>
      dispatchRoute(context, request, request.body),
    ),
    // A raw payload arrives as base64, like the `Payload` of a JSON body.
    write(v1Routes.dispatchJobPayload, mayDispatch, (request) =>
      dispatchRoute(context, request, { Payload: request.body }),
    ),
    write(v1Routes.forcePeriodicJob, mayForce, (request) => forceRoute(context, request)),
    write(v1Routes.evaluateJob, mayEvaluate, (request) => evaluateRoute(context, request)),
    write(v1Routes.releaseJob, inNamespace('submit-job'), (request) =>
      releaseRoute(context, request),
    ),
  ]
}

async function dispatchRoute(
  context: WorkloadContext,
  request: Omit<WriteRequestOf<typeof v1Routes.dispatchJob>, 'body'>,
  body: JobDispatchRequest | undefined,
): Promise<Result<WriteResult, Refusal>> {
  const { caller, namespace, params, query } = request
  const dispatched = await dispatchJob(context, caller, {
    namespace,
    jobId: params.job_id,
    body,
    idempotencyToken: query.idempotency_token ?? '',
  })
  if (!dispatched.ok) return dispatched
  const { childId, evalId, evalCreateIndex, jobCreateIndex, index, warnings } = dispatched.value
  const responseBody: JobDispatchResponse = {
    DispatchedJobID: childId,
    EvalID: evalId,
    EvalCreateIndex: evalCreateIndex,
    JobCreateIndex: jobCreateIndex,
    Index: index,
    ...(warnings.length === 0 ? {} : { Warnings: formatWarnings(warnings) }),
  }
  return ok({ index, response: json(responseBody) })
}

async function forceRoute(
  context: WorkloadContext,
  { caller, namespace, params }: WriteRequestOf<typeof v1Routes.forcePeriodicJob>,
): Promise<Result<WriteResult, Refusal>> {
  const launched = await forcePeriodicJob(context, caller, { namespace, jobId: params.job_id })
  if (!launched.ok) return launched
  const { evalId, index } = launched.value
  const responseBody: PeriodicForceResponse = {
    EvalID: evalId,
    EvalCreateIndex: index,
    Index: index,
  }
  return ok({ index, response: json(responseBody) })
}

async function evaluateRoute(
  context: WorkloadContext,
  { caller, namespace, params, body }: WriteRequestOf<typeof v1Routes.evaluateJob>,
): Promise<Result<WriteResult, Refusal>> {
  const evaluated = await evaluateJob(context, caller, { namespace, jobId: params.job_id, body })
  return evaluated.ok ? ok(jobWriteResult(evaluated.value)) : evaluated
}

async function releaseRoute(
  context: WorkloadContext,
  { caller, namespace, params }: WriteRequestOf<typeof v1Routes.releaseJob>,
): Promise<Result<WriteResult, Refusal>> {
  const released = await releaseJob(context, caller, { namespace, jobId: params.job_id })
  return released.ok ? ok(jobWriteResult(released.value)) : released
}

function jobWriteResult(written: JobWriteResult): WriteResult {
  const { evalId, evalCreateIndex, jobModifyIndex, index, warnings } = written
  const responseBody: JobWriteResponse = {
    EvalID: evalId,
    EvalCreateIndex: evalCreateIndex,
    JobModifyIndex: jobModifyIndex,
    Warnings: formatWarnings(warnings),
    ...responseMeta(index),
  }
  return { index, response: json(responseBody) }
}
