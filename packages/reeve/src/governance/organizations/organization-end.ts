import { remove, type Change, type GovernanceRows, type Tables } from '../../state/index.ts'

/** Every table whose rows are in an organization; a new one is added here. */
const IN_ORGANIZATION = [
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

/** Removes an organization and everything in it; users stay. */
export function organizationEnd(tables: Tables, organizationId: string): readonly Change[] {
  const rows = IN_ORGANIZATION.flatMap((table) =>
    [...tables[table].keysIn('organization', organizationId)].map((key) => remove(table, key)),
  )
  return [...rows, remove('organizations', organizationId)]
}
