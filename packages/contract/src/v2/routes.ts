import { auditTrailRoutes } from './audit-trail.ts'
import { configurationVersionRoutes } from './configuration-version.ts'
import { notificationConfigurationRoutes } from './notification-configuration.ts'
import { organizationMembershipRoutes } from './organization-membership.ts'
import { organizationRoutes } from './organization.ts'
import { policyCheckRoutes } from './policy-check.ts'
import { policyDryRunRoutes } from './policy-dry-run.ts'
import { policyEvaluationRoutes } from './policy-evaluation.ts'
import { policyTrialRoutes } from './policy-trial.ts'
import { policySetMemberRoutes } from './policy-set-members.ts'
import { policySetParameterRoutes } from './policy-set-parameter.ts'
import { policySetVersionRoutes } from './policy-set-version.ts'
import { policySetRoutes } from './policy-set.ts'
import { policyRoutes } from './policy.ts'
import { projectRoutes } from './project.ts'
import { reservedTagKeyRoutes } from './reserved-tag-key.ts'
import { runApplyRoutes } from './run-apply.ts'
import { runEventRoutes } from './run-event.ts'
import { runPhaseRoutes } from './run-phase.ts'
import { runPlanRoutes } from './run-plan.ts'
import { runQueueRoutes } from './run-queue.ts'
import { runTriggerRoutes } from './run-trigger.ts'
import { runRoutes } from './run.ts'
import { stateVersionRoutes } from './state-version.ts'
import { tagBindingRoutes } from './tag-binding.ts'
import { taskStageRoutes } from './task-stage.ts'
import { teamAccessRoutes } from './team-access.ts'
import { teamRoutes } from './team.ts'
import { tokenRoutes } from './token.ts'
import { userRoutes } from './user.ts'
import { variableSetRoutes } from './variable-set.ts'
import { workspaceVariableRoutes } from './workspace-variable.ts'
import { workspaceRoutes } from './workspace.ts'

/** Every route of the governance API by its id, in the order of the documentation. */
export const v2Routes: V2Routes = {
  ...projectRoutes,
  ...tagBindingRoutes,
  ...reservedTagKeyRoutes,
  ...workspaceRoutes,
  ...policyRoutes,
  ...policySetRoutes,
  ...policySetMemberRoutes,
  ...policySetParameterRoutes,
  ...policySetVersionRoutes,
  ...workspaceVariableRoutes,
  ...variableSetRoutes,
  ...configurationVersionRoutes,
  ...stateVersionRoutes,
  ...runRoutes,
  ...runPlanRoutes,
  ...runApplyRoutes,
  ...runEventRoutes,
  ...runQueueRoutes,
  ...runTriggerRoutes,
  ...notificationConfigurationRoutes,
  ...runPhaseRoutes,
  ...policyCheckRoutes,
  ...taskStageRoutes,
  ...policyEvaluationRoutes,
  ...policyDryRunRoutes,
  ...policyTrialRoutes,
  ...userRoutes,
  ...organizationRoutes,
  ...organizationMembershipRoutes,
  ...teamRoutes,
  ...teamAccessRoutes,
  ...tokenRoutes,
  ...auditTrailRoutes,
}

/** Named, because declarations would have to repeat every route otherwise. */
export type V2Routes = typeof projectRoutes &
  typeof tagBindingRoutes &
  typeof reservedTagKeyRoutes &
  typeof workspaceRoutes &
  typeof policyRoutes &
  typeof policySetRoutes &
  typeof policySetMemberRoutes &
  typeof policySetParameterRoutes &
  typeof policySetVersionRoutes &
  typeof workspaceVariableRoutes &
  typeof variableSetRoutes &
  typeof configurationVersionRoutes &
  typeof stateVersionRoutes &
  typeof runRoutes &
  typeof runPlanRoutes &
  typeof runApplyRoutes &
  typeof runEventRoutes &
  typeof runQueueRoutes &
  typeof runTriggerRoutes &
  typeof notificationConfigurationRoutes &
  typeof runPhaseRoutes &
  typeof policyCheckRoutes &
  typeof taskStageRoutes &
  typeof policyEvaluationRoutes &
  typeof policyDryRunRoutes &
  typeof policyTrialRoutes &
  typeof userRoutes &
  typeof organizationRoutes &
  typeof organizationMembershipRoutes &
  typeof teamRoutes &
  typeof teamAccessRoutes &
  typeof tokenRoutes &
  typeof auditTrailRoutes
export type V2RouteId = keyof V2Routes
