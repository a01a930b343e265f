import { v2 } from '@reeve/contract'
import {
  dryRunStatus,
  evaluatePolicySet,
  evaluateWorkspacePolicies,
  findPolicy,
  findPolicySet,
  findWorkspaceWith,
  replayPolicy,
  toPolicySetVerdict,
  tryPolicy,
  type GovernanceContext,
} from '../../governance/index.ts'
import type { PolicySetResultRow } from '../../model/index.ts'
import { mapResult, resourceDocument } from './documents.ts'
import { endpoint, type JsonApiResult, type V2Endpoint } from './endpoint.ts'

const { v2Routes } = v2

/** Returns the routes that evaluate policies without storing anything. */
export function policyDryRunEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  return [
    endpoint(
      v2Routes.evaluateWorkspacePolicies,
      async ({ caller, params, body }) => {
        const { plan, run, 'policy-sets': policySets } = body.data.attributes
        const { workspace_id: workspaceId } = params
        const input = { workspaceId, plan, run, policySets }
        return mapResult(await evaluateWorkspacePolicies(context, caller, input), dryRunDocument)
      },
      {
        authorize: ({ caller, params }) =>
          findWorkspaceWith(context, caller, {
            address: { workspaceId: params.workspace_id },
            right: 'queuePlan',
          }),
      },
    ),
    endpoint(
      v2Routes.evaluatePolicySet,
      async ({ caller, params, body }) => {
        const { attributes, relationships } = body.data
        const input = {
          policySetId: params.policy_set_id,
          runId: relationships.run.data.id,
          toolVersion: attributes?.['policy-tool-version'],
        }
        return mapResult(await evaluatePolicySet(context, caller, input), dryRunDocument)
      },
      {
        authorize: ({ caller, params }) =>
          findPolicySet(context, caller, { policySetId: params.policy_set_id, right: 'update' }),
      },
    ),
    ...dryRunPolicyEndpoints(context),
  ]
}

function dryRunDocument(sets: readonly PolicySetResultRow[]): JsonApiResult {
  const data: v2.PolicyDryRun = {
    type: 'policy-dry-runs',
    attributes: { status: dryRunStatus(sets), 'policy-set-outcomes': sets.map(toPolicySetVerdict) },
  }
  return resourceDocument(data)
}

/** Returns the routes that try a policy before it is enforced. */
function dryRunPolicyEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  const guard = ({ caller, params }: Parameters<typeof findManagedPolicy>[1]) =>
    findManagedPolicy(context, { caller, params })
  return [
    endpoint(
      v2Routes.tryPolicy,
      async ({ caller, params, body }) =>
        mapResult(
          await tryPolicy(context, caller, { policyId: params.policy_id, ...body.data.attributes }),
          (attributes) => resourceDocument({ type: 'policy-trials', attributes }),
        ),
      { authorize: guard },
    ),
    endpoint(
      v2Routes.replayPolicy,
      async ({ caller, params, body }) =>
        mapResult(
          await replayPolicy(context, caller, {
            policyId: params.policy_id,
            ...body.data.attributes,
          }),
          (attributes) => resourceDocument({ type: 'policy-replays', attributes }),
        ),
      { authorize: guard },
    ),
  ]
}

function findManagedPolicy(
  context: GovernanceContext,
  {
    caller,
    params,
  }: {
    readonly caller: Parameters<typeof findPolicy>[1]
    readonly params: { readonly policy_id: string }
  },
) {
  return findPolicy(context, caller, { policyId: params.policy_id, right: 'update' })
}
