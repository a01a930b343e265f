import { v2 } from '@reeve/contract'
import {
  changeSetMembers,
  changeTagSelectors,
  findPolicySet,
  type GovernanceContext,
} from '../../governance/index.ts'
import { mapResult, NO_CONTENT } from './documents.ts'
import { endpoint, type V2Endpoint } from './endpoint.ts'

const { v2Routes } = v2

/** Returns the routes that add and remove members and selectors of a policy set. */
export function policySetMemberEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  return [
    ...MEMBER_ROUTES.map((one) => memberEndpoint(context, one)),
    ...SELECTOR_ROUTES.map(({ id, isRemoval }) =>
      endpoint(
        v2Routes[id],
        async ({ caller, params, body }) =>
          mapResult(
            await changeTagSelectors(context, caller, {
              policySetId: params.policy_set_id,
              selectors: body.data,
              isRemoval,
            }),
            () => NO_CONTENT,
          ),
        {
          authorize: ({ caller, params }) =>
            findPolicySet(context, caller, { policySetId: params.policy_set_id, right: 'update' }),
        },
      ),
    ),
  ]
}

const MEMBER_ROUTES = [
  { id: 'addPolicySetPolicies', relation: 'policies', isRemoval: false },
  { id: 'removePolicySetPolicies', relation: 'policies', isRemoval: true },
  { id: 'addPolicySetProjects', relation: 'projects', isRemoval: false },
  { id: 'removePolicySetProjects', relation: 'projects', isRemoval: true },
  { id: 'addPolicySetWorkspaces', relation: 'workspaces', isRemoval: false },
  { id: 'removePolicySetWorkspaces', relation: 'workspaces', isRemoval: true },
  { id: 'addPolicySetNamespaces', relation: 'namespaces', isRemoval: false },
  { id: 'removePolicySetNamespaces', relation: 'namespaces', isRemoval: true },
  {
    id: 'addPolicySetWorkspaceExclusions',
    relation: 'workspace-exclusions',
    isRemoval: false,
  },
  {
    id: 'removePolicySetWorkspaceExclusions',
    relation: 'workspace-exclusions',
    isRemoval: true,
  },
  { id: 'addPolicySetProjectExclusions', relation: 'project-exclusions', isRemoval: false },
  { id: 'removePolicySetProjectExclusions', relation: 'project-exclusions', isRemoval: true },
] as const

const SELECTOR_ROUTES = [
  { id: 'addPolicySetTagSelectors', isRemoval: false },
  { id: 'removePolicySetTagSelectors', isRemoval: true },
] as const

function memberEndpoint(
  context: GovernanceContext,
  { id, relation, isRemoval }: (typeof MEMBER_ROUTES)[number],
): V2Endpoint {
  return endpoint(
    v2Routes[id],
    async ({ caller, params, body }) =>
      mapResult(
        await changeSetMembers(context, caller, {
          policySetId: params.policy_set_id,
          relation,
          ids: body.data.map((member) => member.id),
          isRemoval,
        }),
        () => NO_CONTENT,
      ),
    {
      authorize: ({ caller, params }) =>
        findPolicySet(context, caller, { policySetId: params.policy_set_id, right: 'update' }),
    },
  )
}
