import { v2 } from '@reeve/contract'
import {
  createPolicySet,
  deletePolicySet,
  findPolicyOrganization,
  findPolicySet,
  listPolicySets,
  updatePolicySet,
  type GovernanceContext,
} from '../../governance/index.ts'
import {
  mapResult,
  createdDocument,
  NO_CONTENT,
  pageDocument,
  resourceDocument,
  offsetAndLimit,
} from './documents.ts'
import { endpoint, type JsonApiResult, type V2Endpoint, type V2Request } from './endpoint.ts'
import { policySetIncludes } from './policy-set-includes.ts'
import { policySetResource } from './resources/policy-set.ts'

const { v2Routes, POLICY_SET_INCLUDES } = v2

export function policySetEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  const { tables } = context.store
  const includes = { includes: POLICY_SET_INCLUDES }
  return [
    endpoint(v2Routes.listPolicySets, (request) => listResponse(context, request), includes),
    endpoint(
      v2Routes.createPolicySet,
      async ({ caller, params, body }) =>
        mapResult(
          await createPolicySet(context, caller, {
            organizationName: params.organization_name,
            data: body.data,
          }),
          (visible) => createdDocument(policySetResource(tables, visible)),
        ),
      {
        authorize: ({ caller, params }) =>
          findPolicyOrganization(context, caller, {
            organizationName: params.organization_name,
            right: 'update',
          }),
      },
    ),
    endpoint(
      v2Routes.readPolicySet,
      (request) => {
        const { caller, params } = request
        const found = findPolicySet(context, caller, {
          policySetId: params.policy_set_id,
          right: 'read',
        })
        return mapResult(found, (visible) =>
          resourceDocument(
            policySetResource(tables, visible),
            policySetIncludes(context, [visible], request),
          ),
        )
      },
      includes,
    ),
    endpoint(
      v2Routes.updatePolicySet,
      async ({ caller, params, body }) =>
        mapResult(
          await updatePolicySet(context, caller, {
            policySetId: params.policy_set_id,
            data: body.data,
          }),
          (visible) => resourceDocument(policySetResource(tables, visible)),
        ),
      {
        authorize: ({ caller, params }) =>
          findPolicySet(context, caller, { policySetId: params.policy_set_id, right: 'update' }),
      },
    ),
    endpoint(v2Routes.deletePolicySet, async ({ caller, params }) =>
      mapResult(await deletePolicySet(context, caller, params.policy_set_id), () => NO_CONTENT),
    ),
  ]
}

function listResponse(
  context: GovernanceContext,
  request: V2Request<typeof v2Routes.listPolicySets>,
): JsonApiResult {
  const { caller, params, query, page } = request
  const found = listPolicySets(context, caller, {
    organizationName: params.organization_name,
    nameContains: query['search[name]'],
    kind: query['filter[kind]'],
    versioned: query['filter[versioned]'],
    ...offsetAndLimit(page),
  })
  return mapResult(found, ({ sets, total }) =>
    pageDocument(request, {
      items: sets.map((visible) => policySetResource(context.store.tables, visible)),
      total,
      ...policySetIncludes(context, sets, request),
    }),
  )
}
