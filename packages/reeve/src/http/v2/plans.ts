import { v2 } from '@reeve/contract'
import {
  findPlan,
  readRunFile,
  readShownPlan,
  uploadPlan,
  type GovernanceContext,
} from '../../governance/index.ts'
import { ok } from '@reeve/kit/result.ts'
import { answer, NO_CONTENT, single } from './documents.ts'
import { endpoint, type Outcome, type V2Endpoint, type V2Request } from './endpoint.ts'
import { planResource } from './resources/run.ts'

const { v2Routes } = v2

export function planEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  return [
    endpoint(v2Routes.readPlan, ({ caller, params, address }) =>
      answer(findPlan(context, caller, { planId: params.plan_id, right: 'read' }), (seen) =>
        single(planResource({ context, origin: address.origin }, seen)),
      ),
    ),
    endpoint(
      v2Routes.uploadPlan,
      async ({ caller, params, body, address }) =>
        answer(await uploadPlan(context, caller, { planId: params.plan_id, bytes: body }), (seen) =>
          ok({
            kind: 'document',
            status: 202,
            document: { data: planResource({ context, origin: address.origin }, seen) },
          }),
        ),
      {
        guard: ({ caller, params }) =>
          findPlan(context, caller, { planId: params.plan_id, right: 'queuePlan' }),
      },
    ),
    endpoint(v2Routes.readPlanJson, (request) => readJson(context, request)),
    endpoint(v2Routes.readRedactedPlanJson, (request) => readRedacted(context, request)),
  ]
}

async function readJson(
  context: GovernanceContext,
  { caller, params }: V2Request<typeof v2Routes.readPlanJson>,
): Promise<Outcome> {
  const seen = findPlan(context, caller, { planId: params.plan_id, right: 'read' })
  if (!seen.ok) return seen
  const plan = await readShownPlan(context, seen.value.plan)
  if (plan === undefined) return NO_CONTENT
  return ok({
    kind: 'bytes',
    status: 200,
    bytes: plan,
    headers: { 'content-type': 'application/json' },
  })
}

async function readRedacted(
  context: GovernanceContext,
  { caller, params }: V2Request<typeof v2Routes.readRedactedPlanJson>,
): Promise<Outcome> {
  const seen = findPlan(context, caller, { planId: params.plan_id, right: 'read' })
  if (!seen.ok) return seen
  const bytes = await readRunFile(context, seen.value.run.id, 'redacted-plan')
  if (bytes === undefined) return NO_CONTENT
  return ok({ kind: 'bytes', status: 200, bytes, headers: { 'content-type': 'application/json' } })
}
