import { v2 } from '@reeve/contract'
import {
  checkOf,
  findCheck,
  findRun,
  overrideCheck,
  type GovernanceContext,
} from '../../governance/index.ts'
import { ok } from '@reeve/kit/result.ts'
import { answer, NO_CONTENT, pagedOnRequest, single, windowOf } from './documents.ts'
import { endpoint, type Outcome, type V2Endpoint, type V2Request } from './endpoint.ts'
import { checkLog, policyCheckResource } from './resources/policy-results.ts'

const { v2Routes } = v2

/** What `native` policies say of a run. */
export function policyCheckEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  return [
    endpoint(v2Routes.listPolicyChecks, (request) => {
      const { caller, params, page } = request
      const found = findRun(context, caller, { runId: params.run_id, right: 'read' })
      return answer(found, (seen) => {
        const check = checkOf(context.store.tables, seen.run.id)
        const all = check === undefined ? [] : [policyCheckResource(context, { ...seen, check })]
        const { skip, take } = windowOf(page)
        const items = page.isAsked ? all.slice(skip, skip + take) : all
        return pagedOnRequest(request, { items, total: all.length })
      })
    }),
    endpoint(v2Routes.readPolicyCheck, ({ caller, params }) =>
      answer(
        findCheck(context, caller, { checkId: params.policy_check_id, right: 'read' }),
        (seen) => single(policyCheckResource(context, seen)),
      ),
    ),
    endpoint(v2Routes.readPolicyCheckOutput, (request) => readOutput(context, request)),
    endpoint(
      v2Routes.overridePolicyCheck,
      async ({ caller, params, body }) =>
        answer(
          await overrideCheck(context, caller, {
            checkId: params.policy_check_id,
            comment: body?.comment ?? null,
          }),
          (seen) => single(policyCheckResource(context, seen)),
        ),
      {
        guard: ({ caller, params }) =>
          findCheck(context, caller, {
            checkId: params.policy_check_id,
            right: 'overridePolicies',
          }),
      },
    ),
  ]
}

function readOutput(
  context: GovernanceContext,
  { caller, params }: V2Request<typeof v2Routes.readPolicyCheckOutput>,
): Outcome {
  const found = findCheck(context, caller, { checkId: params.policy_check_id, right: 'read' })
  return answer(found, (seen) => {
    const log = checkLog(seen)
    if (log === undefined) return NO_CONTENT
    const headers = { 'content-type': 'text/plain; charset=utf-8' }
    return ok({ kind: 'bytes', status: 200, bytes: Buffer.from(log), headers })
  })
}
