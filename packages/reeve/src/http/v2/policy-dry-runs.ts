import { v2 } from '@reeve/contract'
import {
  dryRunStatusOf,
  evaluatePolicySet,
  evaluateWorkspacePolicies,
  findPolicy,
  findPolicySet,
  findWorkspaceWith,
  replayPolicy,
  shownSet,
  tryPolicy,
  type GovernanceContext,
} from '../../governance/index.ts'
import type { JudgedSetRow } from '../../model/index.ts'
import { answer, single } from './documents.ts'
import { endpoint, type Outcome, type V2Endpoint } from './endpoint.ts'

const { v2Routes } = v2

/** Returns the routes that evaluate policies without storing anything. */
export function policyDryRunEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  return [
    endpoint(
      v2Routes.evaluateWorkspacePolicies,
      async ({ caller, params, body }) => {
        const { plan, run, 'policy-sets': policySets } = body.data.attributes
        const { workspace_id: workspaceId } = params
        const question = { workspaceId, plan, run, policySets }
        return answer(await evaluateWorkspacePolicies(context, caller, question), dryRun)
      },
      {
        guard: ({ caller, params }) =>
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
        const question = {
          policySetId: params.policy_set_id,
          runId: relationships.run.data.id,
          toolVersion: attributes?.['policy-tool-version'],
        }
        return answer(await evaluatePolicySet(context, caller, question), dryRun)
      },
      {
        guard: ({ caller, params }) =>
          findPolicySet(context, caller, { policySetId: params.policy_set_id, right: 'update' }),
      },
    ),
    ...trialEndpoints(context),
  ]
}

function dryRun(sets: readonly JudgedSetRow[]): Outcome {
  const data: v2.PolicyDryRun = {
    type: 'policy-dry-runs',
    attributes: { status: dryRunStatusOf(sets), 'policy-set-outcomes': sets.map(shownSet) },
  }
  return single(data)
}

/** Returns the routes that try a policy before it is enforced. */
function trialEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  const guard = ({ caller, params }: Parameters<typeof findManaged>[1]) =>
    findManaged(context, { caller, params })
  return [
    endpoint(
      v2Routes.tryPolicy,
      async ({ caller, params, body }) =>
        answer(
          await tryPolicy(context, caller, { policyId: params.policy_id, ...body.data.attributes }),
          (attributes) => single({ type: 'policy-trials', attributes }),
        ),
      { guard },
    ),
    endpoint(
      v2Routes.replayPolicy,
      async ({ caller, params, body }) =>
        answer(
          await replayPolicy(context, caller, {
            policyId: params.policy_id,
            ...body.data.attributes,
          }),
          (attributes) => single({ type: 'policy-replays', attributes }),
        ),
      { guard },
    ),
  ]
}

function findManaged(
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
