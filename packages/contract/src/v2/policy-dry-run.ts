import { Type } from 'typebox'
import { routes } from '../route.ts'
import { action } from './define.ts'
import { Named, MapOf, type Infer } from '../schema.ts'
import { DocumentOf, OneOf, RequestOf, ToOne } from './json-api.ts'
import { LINE_LENGTH_MAX, PLAN_UPLOAD_BYTES_MAX, RELATED_ITEMS_MAX } from './limits.ts'
import { POLICY_OUTCOME_STATUSES, PolicySetVerdict } from './policy-evaluation.ts'

/**
 * The answer of policies to a plan that is not part of any run. Nothing is stored, so it has no id.
 */
export const PolicyDryRun = Named('PolicyDryRun', {
  type: Type.Literal('policy-dry-runs'),
  attributes: Type.Object({
    status: OneOf(POLICY_OUTCOME_STATUSES),
    'policy-set-outcomes': Type.Array(PolicySetVerdict),
  }),
})
export type PolicyDryRun = Infer<typeof PolicyDryRun>

export const PolicyDryRunDocument = DocumentOf(PolicyDryRun)

/** `run` holds what policies may ask of a run; what is absent is filled from the workspace. */
export const WorkspaceDryRunRequest = RequestOf('WorkspaceDryRunRequest', 'policy-dry-runs', {
  attributes: Type.Object({
    // A `PlanExport`; everything in it goes to the policies.
    plan: MapOf(Type.Unknown()),
    run: Type.Optional(MapOf(Type.Unknown())),
    'policy-sets': Type.Optional(
      Type.Array(Type.String({ minLength: 1 }), {
        maxItems: RELATED_ITEMS_MAX,
        description: 'Ids; all sets that apply to the workspace when omitted.',
      }),
    ),
  }),
})

/** Tests one set again on the stored plan of a run, with another tool version if wished. */
export const PolicySetDryRunRequest = RequestOf('PolicySetDryRunRequest', 'policy-dry-runs', {
  attributes: Type.Optional(
    Type.Object({
      'policy-tool-version': Type.Optional(Type.String({ maxLength: LINE_LENGTH_MAX })),
    }),
  ),
  relationships: Type.Object({ run: ToOne('runs') }),
})

export const policyDryRunRoutes = routes('Policy evaluations', {
  evaluateWorkspacePolicies: action('/workspaces/:workspace_id/actions/evaluate-policies', {
    summary: 'Ask the policies of a workspace about a plan, without storing anything.',
    bodyBytesMax: PLAN_UPLOAD_BYTES_MAX,
    body: WorkspaceDryRunRequest,
    returns: PolicyDryRunDocument,
    result: 'Results of the policies.',
    errors: {
      413: `Larger than ${PLAN_UPLOAD_BYTES_MAX} bytes.`,
      422: 'The plan is malformed, or a policy set does not exist.',
    },
    needs: 'Permission to queue plans.',
  }),
  evaluatePolicySet: action('/policy-sets/:policy_set_id/actions/evaluate', {
    summary: 'Ask a policy set about the stored plan of a run, without storing anything.',
    body: PolicySetDryRunRequest,
    returns: PolicyDryRunDocument,
    result: 'Results of the policies.',
    errors: {
      404: 'Policy set or run not found, or the caller is not authorized.',
      409: 'The run has no plan yet.',
      422: 'The body names no run, or an unknown tool version.',
    },
    needs: 'Owners team, teams with Manage policies, or the organization token.',
  }),
})
