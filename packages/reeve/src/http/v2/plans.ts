import { v2 } from '@reeve/contract'
import {
  findPlan,
  readRunFile,
  readRedactedPlan,
  uploadPlan,
  type GovernanceContext,
} from '../../governance/index.ts'
import { ok } from '@reeve/kit/result.ts'
import { mapResult, NO_CONTENT, resourceDocument } from './documents.ts'
import { endpoint, type JsonApiResult, type V2Endpoint, type V2Request } from './endpoint.ts'
import { planResource } from './resources/run.ts'

const { v2Routes } = v2

export function planEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  return [
    endpoint(v2Routes.readPlan, ({ caller, params, requestUrl }) =>
      mapResult(findPlan(context, caller, { planId: params.plan_id, right: 'read' }), (visible) =>
        resourceDocument(planResource({ context, origin: requestUrl.origin }, visible)),
      ),
    ),
    endpoint(
      v2Routes.uploadPlan,
      async ({ caller, params, body, requestUrl }) =>
        mapResult(
          await uploadPlan(context, caller, { planId: params.plan_id, bytes: body }),
          (visible) =>
            ok({
              kind: 'document',
              status: 202,
              document: { data: planResource({ context, origin: requestUrl.origin }, visible) },
            }),
        ),
      {
        authorize: ({ caller, params }) =>
          findPlan(context, caller, { planId: params.plan_id, right: 'queuePlan' }),
      },
    ),
    endpoint(v2Routes.readPlanJson, (request) => readPlanJsonRoute(context, request)),
    endpoint(v2Routes.readRedactedPlanJson, (request) => readRedactedRoute(context, request)),
  ]
}

async function readPlanJsonRoute(
  context: GovernanceContext,
  { caller, params }: V2Request<typeof v2Routes.readPlanJson>,
): Promise<JsonApiResult> {
  const visible = findPlan(context, caller, { planId: params.plan_id, right: 'read' })
  if (!visible.ok) return visible
  const plan = await readRedactedPlan(context, visible.value.plan)
  if (plan === undefined) return NO_CONTENT
  return ok({
    kind: 'bytes',
    status: 200,
    bytes: plan,
    headers: { 'content-type': 'application/json' },
  })
}

async function readRedactedRoute(
  context: GovernanceContext,
  { caller, params }: V2Request<typeof v2Routes.readRedactedPlanJson>,
): Promise<JsonApiResult> {
  const visible = findPlan(context, caller, { planId: params.plan_id, right: 'read' })
  if (!visible.ok) return visible
  const bytes = await readRunFile(context, visible.value.run.id, 'redacted-plan')
  if (bytes === undefined) return NO_CONTENT
  return ok({ kind: 'bytes', status: 200, bytes, headers: { 'content-type': 'application/json' } })
}
