import * as t from './json-api.ts'
import { action, routes } from './define.ts'
import { POLICY_OUTCOME_STATUSES, PolicySetVerdict } from './policy-evaluation.ts'

/**
 * The answer of policies to a plan that is not part of any run. Nothing is stored, so it has no id.
 */
export const PolicyDryRun = t.Named('PolicyDryRun', {
  type: t.Literal('policy-dry-runs'),
  attributes: t.Object({
    status: t.OneOf(POLICY_OUTCOME_STATUSES),
    'policy-set-outcomes': t.Array(PolicySetVerdict),
  }),
})
export type PolicyDryRun = t.Infer<typeof PolicyDryRun>

/** `run` holds what policies may ask of a run; what is absent is filled from the workspace. */
export const WorkspaceDryRunRequest = t.RequestOf('WorkspaceDryRunRequest', 'policy-dry-runs', {
  attributes: t.Object({
    // A `PlanExport`; everything in it goes to the policies.
    plan: t.MapOf(t.Unknown()),
    run: t.Optional(t.MapOf(t.Unknown())),
    'policy-sets': t.Optional(
      t.Array(t.String({ minLength: 1 }), {
        maxItems: t.RELATED_ITEMS_MAX,
        description: 'Ids; all sets that apply to the workspace when omitted.',
      }),
    ),
  }),
})

/** Tests one set again on the stored plan of a run, with another tool version if wished. */
export const PolicySetDryRunRequest = t.RequestOf('PolicySetDryRunRequest', 'policy-dry-runs', {
  attributes: t.Optional(
    t.Object({ 'policy-tool-version': t.Optional(t.String({ maxLength: t.LINE_LENGTH_MAX })) }),
  ),
  relationships: t.Object({ run: t.ToOne('runs') }),
})

export const policyDryRunRoutes = routes('Policy evaluations', {
  evaluateWorkspacePolicies: action('/workspaces/:workspace_id/actions/evaluate-policies', {
    summary: 'Ask the policies of a workspace about a plan, without storing anything.',
    bodyBytesMax: t.PLAN_UPLOAD_BYTES_MAX,
    body: WorkspaceDryRunRequest,
    returns: PolicyDryRun,
    result: 'Results of the policies.',
    errors: {
      413: `Larger than ${t.PLAN_UPLOAD_BYTES_MAX} bytes.`,
      422: 'The plan is malformed, or a policy set does not exist.',
    },
    needs: 'Permission to queue plans.',
  }),
  evaluatePolicySet: action('/policy-sets/:policy_set_id/actions/evaluate', {
    summary: 'Ask a policy set about the stored plan of a run, without storing anything.',
    body: PolicySetDryRunRequest,
    returns: PolicyDryRun,
    result: 'Results of the policies.',
    errors: {
      404: 'Policy set or run not found, or the caller is not authorized.',
      409: 'The run has no plan yet.',
      422: 'The body names no run, or an unknown tool version.',
    },
    needs: 'Owners team, teams with Manage policies, or the organization token.',
  }),
})
