import { v2, type Route } from '@reeve/contract'
import {
  checkOf,
  findCheck,
  findRun,
  overrideCheck,
  type GovernanceContext,
  type SeenRun,
} from '../../governance/index.ts'
import { ok } from '@reeve/kit/result.ts'
import { answer, NO_CONTENT, pagedOnRequest, single, windowOf } from './documents.ts'
import {
  endpoint,
  type Outcome,
  type Resource,
  type V2Endpoint,
  type V2Request,
} from './endpoint.ts'
import { checkLog, policyCheckResource } from './resources/policy-results.ts'
import { runResource } from './resources/run.ts'
import { workspaceResource } from './resources/workspace.ts'

const { v2Routes, POLICY_CHECK_INCLUDES } = v2

/** Returns the routes of policy checks: the results of a run's `native` policies. */
export function policyCheckEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  const included = { includes: POLICY_CHECK_INCLUDES }
  return [
    endpoint(v2Routes.listPolicyChecks, (request) => answerList(context, request), included),
    endpoint(
      v2Routes.readPolicyCheck,
      (request) => {
        const { caller, params } = request
        const found = findCheck(context, caller, {
          checkId: params.policy_check_id,
          right: 'read',
        })
        return answer(found, (seen) =>
          single(policyCheckResource(context, seen), includedIn(context, seen, request)),
        )
      },
      included,
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

function answerList(
  context: GovernanceContext,
  request: V2Request<typeof v2Routes.listPolicyChecks>,
): Outcome {
  const { caller, params, page } = request
  const found = findRun(context, caller, { runId: params.run_id, right: 'read' })
  return answer(found, (seen) => {
    const check = checkOf(context.store.tables, seen.run.id)
    const all = check === undefined ? [] : [policyCheckResource(context, { ...seen, check })]
    const { skip, take } = windowOf(page)
    const items = page.isAsked ? all.slice(skip, skip + take) : all
    const included = items.length === 0 ? {} : includedIn(context, seen, request)
    return pagedOnRequest(request, { items, total: all.length, ...included })
  })
}

function includedIn(
  context: GovernanceContext,
  seen: SeenRun,
  { caller, includes }: Pick<V2Request<Route>, 'caller' | 'includes'>,
): { readonly included?: readonly Resource[] } {
  if (includes.size === 0) return {}
  const workspace = includes.has('run.workspace') ? [workspaceResource(context, seen)] : []
  return { included: [runResource(context, seen, caller.userId), ...workspace] }
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
