import { v1Routes } from '@reeve/contract'
import { ok, type Result } from '@reeve/kit/result.ts'
import type { Refusal } from '../../model/index.ts'
import { planJob, type WorkloadContext } from '../../workload/index.ts'
import { json } from '../answer.ts'
import { jobRegion } from '../pipeline/region-routing.ts'
import { write, type Endpoint, type V1Request, type WriteResult } from './endpoint.ts'
import { inAnyNamespace } from './requirements.ts'
import { workOrigin } from '../slices.ts'

export function jobPlanEndpoints(context: WorkloadContext): readonly Endpoint[] {
  // `register-job` allows another region to plan its part of a multi-region job here.
  const mayPlan = inAnyNamespace('submit-job', 'plan-job', 'register-job')
  const endpoint = write(v1Routes.planJob, mayPlan, (request) => planJobRoute(context, request))
  return [{ ...endpoint, resolveRegion: jobRegion }]
}

async function planJobRoute(
  context: WorkloadContext,
  {
    caller,
    body,
    query,
    params,
    isRegionalSubrequest,
    ...request
  }: V1Request<typeof v1Routes.planJob>,
): Promise<Result<WriteResult, Refusal>> {
  const planned = await planJob(context, caller, {
    body,
    isRegionalJob: isRegionalSubrequest,
    origin: workOrigin(request),
    pathJobId: params.job_id,
    queryNamespace: query.namespace ?? '',
    queryRegion: query.region ?? '',
  })
  return planned.ok ? ok({ index: planned.value.Index, response: json(planned.value) }) : planned
}
