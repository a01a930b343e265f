import { remove, scopedKey, type Change, type TableName, type Tables } from '../../state/index.ts'
import { workspaceRunsEnd } from '../runs/run-end.ts'
import { memberEnd as setMemberEnd } from '../variable-sets/set-members.ts'
import { variableSetEnd } from '../variable-sets/variable-sets.ts'

/** Deletes a project, its workspaces, and all rows that reference them. */
export function projectEnd(tables: Tables, projectId: string): readonly Change[] {
  return [
    ...[...tables.workspaces.keysIn('project', projectId)].flatMap((id) =>
      workspaceEnd(tables, id),
    ),
    ...rowsOf(tables, ['tag_bindings', 'owner', projectId]),
    ...rowsOf(tables, ['team_projects', 'project', projectId]),
    ...rowsOf(tables, ['project_namespaces', 'project', projectId]),
    ...memberEnd(tables, ['projects', 'project-exclusions'], projectId),
    ...setMemberEnd(tables, 'member', scopedKey('projects', projectId)),
    ...[...tables.variable_sets.keysIn('project', projectId)].flatMap((id) =>
      variableSetEnd(tables, id),
    ),
    remove('projects', projectId),
  ]
}

/** Deletes a workspace and all rows that reference it. */
export function workspaceEnd(tables: Tables, workspaceId: string): readonly Change[] {
  return [
    ...rowsOf(tables, ['tag_bindings', 'owner', workspaceId]),
    ...rowsOf(tables, ['team_workspaces', 'workspace', workspaceId]),
    ...workspaceRunsEnd(tables, workspaceId),
    ...rowsOf(tables, ['blob_parts', 'workspace', workspaceId]),
    ...rowsOf(tables, ['configuration_versions', 'workspace', workspaceId]),
    ...rowsOf(tables, ['state_versions', 'workspace', workspaceId]),
    ...rowsOf(tables, ['run_variables', 'workspace', workspaceId]),
    ...rowsOf(tables, ['notification_configurations', 'workspace', workspaceId]),
    ...rowsOf(tables, ['notifications', 'workspace', workspaceId]),
    ...rowsOf(tables, ['run_triggers', 'workspace', workspaceId]),
    ...rowsOf(tables, ['run_triggers', 'source', workspaceId]),
    ...memberEnd(tables, ['workspaces', 'workspace-exclusions'], workspaceId),
    ...setMemberEnd(tables, 'member', scopedKey('workspaces', workspaceId)),
    remove('workspaces', workspaceId),
  ]
}

/** Removes a deleted member from policy sets. */
function memberEnd(
  tables: Tables,
  relations: readonly string[],
  memberId: string,
): readonly Change[] {
  return relations.flatMap((relation) =>
    rowsOf(tables, ['policy_set_members', 'member', scopedKey(relation, memberId)]),
  )
}

function rowsOf(
  tables: Tables,
  [table, index, group]: readonly [TableName, string, string],
): readonly Change[] {
  return [...tables[table].keysIn(index, group)].map((key) => remove(table, key))
}
