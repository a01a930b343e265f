import { remove, scopedKey, type Change, type TableName, type Tables } from '../../state/index.ts'
import { deleteWorkspaceRunsChanges } from '../runs/run-end.ts'
import { deleteMembersChanges as setMemberEnd } from '../variable-sets/set-members.ts'
import { deleteVariableSetChanges } from '../variable-sets/variable-sets.ts'

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

function deleteRowsChanges(
  tables: Tables,
  [table, index, group]: readonly [TableName, string, string],
): readonly Change[] {
  return [...tables[table].keysByIndex(index, group)].map((key) => remove(table, key))
}
