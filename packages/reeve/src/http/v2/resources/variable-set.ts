import type { v2 } from '@reeve/contract'
import {
  setVariables,
  variableSetMembers,
  type SeenVariableSet,
} from '../../../governance/index.ts'
import type { SetVariableRow, VariableFields } from '../../../model/index.ts'
import type { Tables } from '../../../state/index.ts'
import { pathOf, timeText, toMany, toOne } from './links.ts'

export function variableSetResource(
  tables: Tables,
  { set, organization }: SeenVariableSet,
): v2.VariableSet {
  const workspaces = variableSetMembers(tables, set.id, 'workspaces')
  const projects = variableSetMembers(tables, set.id, 'projects')
  const variables = setVariables(tables, set.id).map(({ id }) => id)
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
      'created-at': timeText(set.createdMs),
      'updated-at': timeText(set.updatedMs),
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
    links: { self: pathOf('varsets', set.id) },
  }
}

export function setVariableResource(variable: SetVariableRow): v2.VariableSetVariable {
  const { id, variableSetId } = variable
  return {
    id,
    type: 'vars',
    attributes: variableAttributes(variable),
    relationships: { varset: toOne('varsets', variableSetId) },
    links: { self: pathOf('varsets', variableSetId, 'relationships', 'vars', id) },
  }
}

/** A sensitive value is never shown. */
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
    'created-at': timeText(variable.createdMs),
  }
}
