import { v2 } from '@reeve/contract'
import {
  createPolicySet,
  deletePolicySet,
  findPolicySeat,
  findPolicySet,
  listPolicySets,
  updatePolicySet,
  type GovernanceContext,
} from '../../governance/index.ts'
import { answer, created, NO_CONTENT, paged, single, windowOf } from './documents.ts'
import { endpoint, type Outcome, type V2Endpoint, type V2Request } from './endpoint.ts'
import { includedInSets } from './policy-set-includes.ts'
import { policySetResource } from './resources/policy-set.ts'

const { v2Routes, POLICY_SET_INCLUDES } = v2

export function policySetEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  const { tables } = context.store
  const includes = { includes: POLICY_SET_INCLUDES }
  return [
    endpoint(v2Routes.listPolicySets, (request) => answerList(context, request), includes),
    endpoint(
      v2Routes.createPolicySet,
      async ({ caller, params, body }) =>
        answer(
          await createPolicySet(context, caller, {
            organizationName: params.organization_name,
            data: body.data,
          }),
          (seen) => created(policySetResource(tables, seen)),
        ),
      {
        guard: ({ caller, params }) =>
          findPolicySeat(context, caller, {
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
        return answer(found, (seen) =>
          single(policySetResource(tables, seen), includedInSets(context, [seen], request)),
        )
      },
      includes,
    ),
    endpoint(
      v2Routes.updatePolicySet,
      async ({ caller, params, body }) =>
        answer(
          await updatePolicySet(context, caller, {
            policySetId: params.policy_set_id,
            data: body.data,
          }),
          (seen) => single(policySetResource(tables, seen)),
        ),
      {
        guard: ({ caller, params }) =>
          findPolicySet(context, caller, { policySetId: params.policy_set_id, right: 'update' }),
      },
    ),
    endpoint(v2Routes.deletePolicySet, async ({ caller, params }) =>
      answer(await deletePolicySet(context, caller, params.policy_set_id), () => NO_CONTENT),
    ),
  ]
}

function answerList(
  context: GovernanceContext,
  request: V2Request<typeof v2Routes.listPolicySets>,
): Outcome {
  const { caller, params, query, page } = request
  const found = listPolicySets(context, caller, {
    organizationName: params.organization_name,
    part: query['search[name]'],
    kind: query['filter[kind]'],
    versioned: query['filter[versioned]'],
    ...windowOf(page),
  })
  return answer(found, ({ sets, total }) =>
    paged(request, {
      items: sets.map((seen) => policySetResource(context.store.tables, seen)),
      total,
      ...includedInSets(context, sets, request),
    }),
  )
}
