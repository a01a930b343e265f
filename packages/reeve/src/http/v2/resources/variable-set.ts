import type { v2 } from '@reeve/contract'
import {
  listSetVariables,
  variableSetMembers,
  type VisibleVariableSet,
} from '../../../governance/index.ts'
import type { SetVariableRow, VariableFields } from '../../../model/index.ts'
import type { Tables } from '../../../state/index.ts'
import { resourcePath, formatTime, toMany, toOne } from './links.ts'

export function variableSetResource(
  tables: Tables,
  { set, organization }: VisibleVariableSet,
): v2.VariableSet {
  const workspaces = variableSetMembers(tables, set.id, 'workspaces')
  const projects = variableSetMembers(tables, set.id, 'projects')
  const variables = listSetVariables(tables, set.id).map(({ id }) => id)
  return {
    id: set.id,
    type: 'varsets',
    attributes: {
      name: set.name,
      description: set.description,
      global: set.global,
      priority: set.priority,
      'var-count': variables.length,
      'workspace-count': workspaces.length,
      'project-count': projects.length,
      'created-at': formatTime(set.createdMs),
      'updated-at': formatTime(set.updatedMs),
    },
    relationships: {
      organization: toOne('organizations', organization.name),
      parent:
        set.projectId === null
          ? toOne('organizations', organization.name)
          : toOne('projects', set.projectId),
      vars: toMany('vars', variables),
      workspaces: toMany('workspaces', workspaces),
      projects: toMany('projects', projects),
    },
    links: { self: resourcePath('varsets', set.id) },
  }
}

export function setVariableResource(variable: SetVariableRow): v2.VariableSetVariable {
  const { id, variableSetId } = variable
  return {
    id,
    type: 'vars',
    attributes: variableAttributes(variable),
    relationships: { varset: toOne('varsets', variableSetId) },
    links: { self: resourcePath('varsets', variableSetId, 'relationships', 'vars', id) },
  }
}

/** Returns the attributes of a variable. Sensitive values are never returned. */
export function variableAttributes(variable: VariableFields): v2.WorkspaceVariable['attributes'] {
  const { sensitive } = variable
  return {
    key: variable.key,
    value: sensitive ? null : variable.value,
    description: variable.description,
    category: variable.category,
    hcl: variable.hcl,
    sensitive,
    'version-id': variable.versionId,
    'created-at': formatTime(variable.createdMs),
  }
}
