import { v1Routes } from '@reeve/contract'
import { ok, type Result } from '@reeve/kit/result.ts'
import type { Refusal } from '../../model/index.ts'
import { planJob, type WorkloadContext } from '../../workload/index.ts'
import { json } from '../answer.ts'
import { jobRegion } from '../pipeline/region-routing.ts'
import { write, type Endpoint, type RequestOf, type Written } from './endpoint.ts'
import { somewhere } from './requirements.ts'
import { originOf } from '../slices.ts'

export function jobPlanEndpoints(context: WorkloadContext): readonly Endpoint[] {
  // The third one for another region that is about to register its part here.
  const mayPlan = somewhere('submit-job', 'plan-job', 'register-job')
  const endpoint = write(v1Routes.planJob, mayPlan, (request) => plan(context, request))
  return [{ ...endpoint, resolveRegion: jobRegion }]
}

async function plan(
  context: WorkloadContext,
  { caller, body, query, params, isPart, ...request }: RequestOf<typeof v1Routes.planJob>,
): Promise<Result<Written, Refusal>> {
  const planned = await planJob(context, caller, {
    body,
    isPart,
    origin: originOf(request),
    pathJobId: params.job_id,
    queryNamespace: query.namespace ?? '',
    queryRegion: query.region ?? '',
  })
  return planned.ok ? ok({ index: planned.value.Index, answer: json(planned.value) }) : planned
}
