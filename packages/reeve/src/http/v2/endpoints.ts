import type { GovernanceContext } from '../../governance/index.ts'
import { accountEndpoints, membershipEndpoints } from './users.ts'
import { configurationVersionEndpoints } from './configuration-versions.ts'
import type { V2Endpoint } from './endpoint.ts'
import { organizationEndpoints } from './organizations.ts'
import {
  planEndpoints,
  policyCheckEndpoints,
  policyEvaluationEndpoints,
  taskStageEndpoints,
} from './run-policies.ts'
import { policyDryRunEndpoints, policyEndpoints } from './policies.ts'
import { policySetEndpoints, policySetMemberEndpoints } from './policy-sets.ts'
import { policySetParameterEndpoints, policySetVersionEndpoints } from './policy-set-content.ts'
import { projectEndpoints, projectTagEndpoints } from './projects.ts'
import { reservedTagKeyEndpoints, workspaceTagEndpoints } from './tags.ts'
import { runApplyEndpoints, runPhaseEndpoints } from './run-phases.ts'
import { runQueueEndpoints, runTriggerEndpoints } from './run-triggers.ts'
import { stateVersionEndpoints } from './state-versions.ts'
import { runEndpoints, type RunDeps } from './runs.ts'
import { teamAccessEndpoints, teamEndpoints } from './teams.ts'
import { tokenEndpoints } from './tokens.ts'
import { variableSetEndpoints, workspaceVariableEndpoints } from './variable-sets.ts'
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
