/**
 * The `:name` parts of paths. Any text is taken: an id of a wrong form is not found, never
 * malformed (reference §1.6).
 */

import { Type } from 'typebox'

const segment = Type.String({ minLength: 1 })

export const OrganizationPath = Type.Object({ organization_name: segment })
export const OrganizationMembershipPath = Type.Object({ organization_membership_id: segment })
export const UserPath = Type.Object({ user_id: segment })
export const TeamPath = Type.Object({ team_id: segment })
export const TeamProjectPath = Type.Object({ team_project_id: segment })
export const TeamWorkspacePath = Type.Object({ team_workspace_id: segment })
export const TokenPath = Type.Object({ token_id: segment })
export const ProjectPath = Type.Object({ project_id: segment })
export const ReservedTagKeyPath = Type.Object({ reserved_tag_key_id: segment })
export const WorkspacePath = Type.Object({ workspace_id: segment })
export const NamedWorkspacePath = Type.Object({
  organization_name: segment,
  workspace_name: segment,
})
export const PolicyPath = Type.Object({ policy_id: segment })
export const PolicySetPath = Type.Object({ policy_set_id: segment })
export const PolicySetParameterPath = Type.Object({ policy_set_id: segment, parameter_id: segment })
export const PolicySetVersionPath = Type.Object({ policy_set_version_id: segment })
export const RunPath = Type.Object({ run_id: segment })
export const PlanPath = Type.Object({ plan_id: segment })
export const PolicyCheckPath = Type.Object({ policy_check_id: segment })
export const TaskStagePath = Type.Object({ task_stage_id: segment })
export const PolicyEvaluationPath = Type.Object({ policy_evaluation_id: segment })
export const PolicySetOutcomePath = Type.Object({ policy_set_outcome_id: segment })
