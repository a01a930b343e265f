import { v2, type Route } from '@reeve/contract'
import {
  findPolicyCheck,
  findCheck,
  findRun,
  overrideCheck,
  type GovernanceContext,
  type VisibleRun,
} from '../../governance/index.ts'
import { ok } from '@reeve/kit/result.ts'
import {
  mapResult,
  NO_CONTENT,
  pageIfRequested,
  resourceDocument,
  offsetAndLimit,
} from './documents.ts'
import {
  endpoint,
  type JsonApiResult,
  type Resource,
  type V2Endpoint,
  type V2Request,
} from './endpoint.ts'
import { policyCheckLog, policyCheckResource } from './resources/policy-results.ts'
import { runResource } from './resources/run.ts'
import { workspaceResource } from './resources/workspace.ts'

const { v2Routes, POLICY_CHECK_INCLUDES } = v2

/** Returns the routes of policy checks: the results of a run's `native` policies. */
export function policyCheckEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  const included = { includes: POLICY_CHECK_INCLUDES }
  return [
    endpoint(v2Routes.listPolicyChecks, (request) => listResponse(context, request), included),
    endpoint(
      v2Routes.readPolicyCheck,
      (request) => {
        const { caller, params } = request
        const found = findCheck(context, caller, {
          checkId: params.policy_check_id,
          right: 'read',
        })
        return mapResult(found, (visible) =>
          resourceDocument(
            policyCheckResource(context, visible),
            includedResources(context, visible, request),
          ),
        )
      },
      included,
    ),
    endpoint(v2Routes.readPolicyCheckOutput, (request) => readOutputRoute(context, request)),
    endpoint(
      v2Routes.overridePolicyCheck,
      async ({ caller, params, body }) =>
        mapResult(
          await overrideCheck(context, caller, {
            checkId: params.policy_check_id,
            comment: body?.comment ?? null,
          }),
          (visible) => resourceDocument(policyCheckResource(context, visible)),
        ),
      {
        authorize: ({ caller, params }) =>
          findCheck(context, caller, {
            checkId: params.policy_check_id,
            right: 'overridePolicies',
          }),
      },
    ),
  ]
}

function listResponse(
  context: GovernanceContext,
  request: V2Request<typeof v2Routes.listPolicyChecks>,
): JsonApiResult {
  const { caller, params, page } = request
  const found = findRun(context, caller, { runId: params.run_id, right: 'read' })
  return mapResult(found, (visible) => {
    const check = findPolicyCheck(context.store.tables, visible.run.id)
    const all = check === undefined ? [] : [policyCheckResource(context, { ...visible, check })]
    const { offset, limit } = offsetAndLimit(page)
    const items = page.isExplicitPage ? all.slice(offset, offset + limit) : all
    const included = items.length === 0 ? {} : includedResources(context, visible, request)
    return pageIfRequested(request, { items, total: all.length, ...included })
  })
}

function includedResources(
  context: GovernanceContext,
  visible: VisibleRun,
  { caller, includes }: Pick<V2Request<Route>, 'caller' | 'includes'>,
): { readonly included?: readonly Resource[] } {
  if (includes.size === 0) return {}
  const workspace = includes.has('run.workspace') ? [workspaceResource(context, visible)] : []
  return { included: [runResource(context, visible, caller.userId), ...workspace] }
}

function readOutputRoute(
  context: GovernanceContext,
  { caller, params }: V2Request<typeof v2Routes.readPolicyCheckOutput>,
): JsonApiResult {
  const found = findCheck(context, caller, { checkId: params.policy_check_id, right: 'read' })
  return mapResult(found, (visible) => {
    const log = policyCheckLog(visible)
    if (log === undefined) return NO_CONTENT
    const headers = { 'content-type': 'text/plain; charset=utf-8' }
    return ok({ kind: 'bytes', status: 200, bytes: Buffer.from(log), headers })
  })
}
