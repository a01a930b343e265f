import { remove, type Change, type GovernanceRows, type Tables } from '../../state/index.ts'

/** Tables whose rows belong to an organization. New tables must be added here. */
const ORGANIZATION_TABLES = [
  'api_tokens',
  'blob_parts',
  'configuration_versions',
  'notification_configurations',
  'notifications',
  'organization_memberships',
  'plan_parts',
  'policy_checks',
  'policy_codes',
  'policy_evaluations',
  'policy_set_members',
  'policy_set_outcomes',
  'policy_set_parameters',
  'policy_set_versions',
  'policy_sets',
  'project_namespaces',
  'projects',
  'reserved_tag_keys',
  'run_files',
  'run_log_parts',
  'run_phases',
  'run_plans',
  'run_policies',
  'run_triggers',
  'run_variables',
  'runs',
  'state_versions',
  'tag_bindings',
  'task_stages',
  'team_memberships',
  'team_projects',
  'team_workspaces',
  'teams',
  'variable_set_members',
  'variable_set_variables',
  'variable_sets',
  'workspaces',
] as const satisfies readonly (keyof GovernanceRows)[]

/** Deletes an organization with all its contents; users remain. */
export function deleteOrganizationChanges(
  tables: Tables,
  organizationId: string,
): readonly Change[] {
  const rows = ORGANIZATION_TABLES.flatMap((table) =>
    [...tables[table].keysByIndex('organization', organizationId)].map((key) => remove(table, key)),
  )
  return [...rows, remove('organizations', organizationId)]
}
