import type { OrganizationMembershipRow } from '../model/index.ts'
import {
  remove,
  scopedKey,
  type Change,
  type IndexName,
  type TableName,
  type Tables,
  type GovernanceRows,
} from '../state/index.ts'
import { deleteWorkspaceRunsChanges } from './runs/run-changes.ts'
import { deleteMembersChanges as setMemberEnd } from './variable-sets/set-members.ts'
import { deleteVariableSetChanges } from './variable-sets/variable-sets.ts'

/** Deletes a project, its workspaces, and all rows that reference them. */
export function deleteProjectChanges(tables: Tables, projectId: string): readonly Change[] {
  return [
    ...[...tables.workspaces.keysByIndex('project', projectId)].flatMap((id) =>
      deleteWorkspaceChanges(tables, id),
    ),
    ...deleteRowsChanges(tables, ['tag_bindings', 'owner', projectId]),
    ...deleteRowsChanges(tables, ['team_projects', 'project', projectId]),
    ...deleteRowsChanges(tables, ['project_namespaces', 'project', projectId]),
    ...detachFromPolicySetsChanges(tables, ['projects', 'project-exclusions'], projectId),
    ...setMemberEnd(tables, 'member', scopedKey('projects', projectId)),
    ...[...tables.variable_sets.keysByIndex('project', projectId)].flatMap((id) =>
      deleteVariableSetChanges(tables, id),
    ),
    remove('projects', projectId),
  ]
}

/** Deletes a workspace and all rows that reference it. */
export function deleteWorkspaceChanges(tables: Tables, workspaceId: string): readonly Change[] {
  return [
    ...deleteRowsChanges(tables, ['tag_bindings', 'owner', workspaceId]),
    ...deleteRowsChanges(tables, ['team_workspaces', 'workspace', workspaceId]),
    ...deleteWorkspaceRunsChanges(tables, workspaceId),
    ...deleteRowsChanges(tables, ['blob_parts', 'workspace', workspaceId]),
    ...deleteRowsChanges(tables, ['configuration_versions', 'workspace', workspaceId]),
    ...deleteRowsChanges(tables, ['state_versions', 'workspace', workspaceId]),
    ...deleteRowsChanges(tables, ['run_variables', 'workspace', workspaceId]),
    ...deleteRowsChanges(tables, ['notification_configurations', 'workspace', workspaceId]),
    ...deleteRowsChanges(tables, ['notifications', 'workspace', workspaceId]),
    ...deleteRowsChanges(tables, ['run_triggers', 'workspace', workspaceId]),
    ...deleteRowsChanges(tables, ['run_triggers', 'source', workspaceId]),
    ...detachFromPolicySetsChanges(tables, ['workspaces', 'workspace-exclusions'], workspaceId),
    ...setMemberEnd(tables, 'member', scopedKey('workspaces', workspaceId)),
    remove('workspaces', workspaceId),
  ]
}

/** Removes a deleted member from policy sets. */
function detachFromPolicySetsChanges(
  tables: Tables,
  relations: readonly string[],
  memberId: string,
): readonly Change[] {
  return relations.flatMap((relation) =>
    deleteRowsChanges(tables, ['policy_set_members', 'member', scopedKey(relation, memberId)]),
  )
}

/** Deletes the rows of a table with an index key. */
export function deleteRowsChanges<N extends TableName>(
  tables: Tables,
  [table, index, indexKey]: readonly [N, IndexName<N>, string],
): readonly Change[] {
  return [...tables[table].keysByIndex(index, indexKey)].map((key) => remove(table, key))
}

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

/** Removes a user from an organization and all its teams. */
export function deleteMembershipChanges(tables: Tables, membershipId: string): readonly Change[] {
  const teamMembershipKeys = [...tables.team_memberships.keysByIndex('membership', membershipId)]
  return [
    ...teamMembershipKeys.map((key) => remove('team_memberships', key)),
    remove('organization_memberships', membershipId),
  ]
}

/**
 * Reports whether the organization would lose its last owner. Pending invitations do not count,
 * because they may never be accepted.
 */
export function isLastOwner(
  tables: Tables,
  membership: Pick<OrganizationMembershipRow, 'id' | 'organizationId'>,
): boolean {
  const { ownersTeamId } = tables.organizations.get(membership.organizationId)
  if (!tables.team_memberships.has(scopedKey(ownersTeamId, membership.id))) return false
  return activeOwners(tables, ownersTeamId).every((id) => id === membership.id)
}

export function activeOwners(tables: Tables, ownersTeamId: string): readonly string[] {
  return tables.team_memberships
    .rowsByIndex('team', ownersTeamId)
    .map(({ membershipId }) => membershipId)
    .filter((id) => tables.organization_memberships.find(id)?.status === 'active')
}
