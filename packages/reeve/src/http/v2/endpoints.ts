import type { GovernanceContext } from '../../governance/index.ts'
import { accountEndpoints } from './account.ts'
import { configurationVersionEndpoints } from './configuration-versions.ts'
import type { V2Endpoint } from './endpoint.ts'
import { membershipEndpoints } from './memberships.ts'
import { organizationEndpoints } from './organizations.ts'
import { planEndpoints } from './plans.ts'
import { policyEndpoints } from './policies.ts'
import { policyCheckEndpoints } from './policy-checks.ts'
import { policyDryRunEndpoints } from './policy-dry-runs.ts'
import { policyEvaluationEndpoints } from './policy-evaluations.ts'
import { policySetMemberEndpoints } from './policy-set-members.ts'
import { policySetParameterEndpoints } from './policy-set-parameters.ts'
import { policySetVersionEndpoints } from './policy-set-versions.ts'
import { policySetEndpoints } from './policy-sets.ts'
import { projectTagEndpoints } from './project-tags.ts'
import { projectEndpoints } from './projects.ts'
import { reservedTagKeyEndpoints } from './reserved-tag-keys.ts'
import { runApplyEndpoints } from './run-applies.ts'
import { runPhaseEndpoints } from './run-phases.ts'
import { runQueueEndpoints } from './run-queues.ts'
import { runTriggerEndpoints } from './run-triggers.ts'
import { stateVersionEndpoints } from './state-versions.ts'
import { runEndpoints, type RunDeps } from './runs.ts'
import { taskStageEndpoints } from './task-stages.ts'
import { teamAccessEndpoints } from './team-access.ts'
import { teamEndpoints } from './teams.ts'
import { tokenEndpoints } from './tokens.ts'
import { variableSetEndpoints } from './variable-sets.ts'
import { workspaceTagEndpoints } from './workspace-tags.ts'
import { workspaceVariableEndpoints } from './workspace-variables.ts'
import { workspaceEndpoints } from './workspaces.ts'

/** Returns every route of `/api/v2` with its handler. */
export function governanceEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  return [
    ...accountEndpoints(context),
    ...organizationEndpoints(context),
    ...membershipEndpoints(context),
    ...teamEndpoints(context),
    ...tokenEndpoints(context),
    ...projectEndpoints(context),
    ...projectTagEndpoints(context),
    ...teamAccessEndpoints(context),
    ...reservedTagKeyEndpoints(context),
    ...workspaceEndpoints(context),
    ...workspaceTagEndpoints(context),
    ...policyEndpoints(context),
    ...policySetEndpoints(context),
    ...policySetMemberEndpoints(context),
    ...policySetParameterEndpoints(context),
    ...policySetVersionEndpoints(context),
    ...workspaceVariableEndpoints(context),
    ...variableSetEndpoints(context),
    ...configurationVersionEndpoints(context),
    ...stateVersionEndpoints(context),
    ...planEndpoints(context),
    ...runQueueEndpoints(context),
    ...runTriggerEndpoints(context),
    ...policyCheckEndpoints(context),
    ...taskStageEndpoints(context),
    ...policyEvaluationEndpoints(context),
    ...policyDryRunEndpoints(context),
  ]
}

/** Returns the routes of runs and of everything in them that a read may wait for. */
export function runReadEndpoints(host: RunDeps): readonly V2Endpoint[] {
  return [...runEndpoints(host), ...runApplyEndpoints(host), ...runPhaseEndpoints(host)]
}
