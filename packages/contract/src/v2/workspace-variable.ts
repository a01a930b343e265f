// tidy-allow vendor: a category has the name of the program whose variables these are
import * as t from './json-api.ts'
import { create, read, remove, update, routes } from './define.ts'

/** A variable of the configuration, or of the environment in which the tool runs. */
export const VARIABLE_CATEGORIES = ['terraform', 'env'] as const

export const VARIABLE_ATTRIBUTES = {
  key: t.String(),
  value: t.Nullable(t.String({ description: 'Null once the variable is sensitive.' })),
  description: t.Nullable(t.String()),
  category: t.OneOf(VARIABLE_CATEGORIES),
  hcl: t.Boolean({ description: 'The value is an expression, not text.' }),
  sensitive: t.Boolean({ description: 'Cannot be turned off again.' }),
  'version-id': t.String({ description: 'Another one after each change.' }),
  'created-at': t.Timestamp(),
}

/** A value that the runs of a workspace get. */
export const WorkspaceVariable = t.ResourceOf('WorkspaceVariable', 'vars', {
  attributes: t.Object(VARIABLE_ATTRIBUTES),
  relationships: t.Object({
    configurable: t.ToOne('workspaces'),
    // The variable set that it comes from; absent for a variable of the workspace itself.
    varset: t.Optional(t.ToOne('varsets')),
  }),
  links: t.SelfLink(),
})
export type WorkspaceVariable = t.Infer<typeof WorkspaceVariable>

export const WorkspaceVariableList = t.ListOf(WorkspaceVariable)

const key = t.String({ minLength: 1, maxLength: t.PARAMETER_KEY_LENGTH_MAX })
const writable = {
  // A missing value is an empty one.
  value: t.Optional(t.Nullable(t.String({ maxLength: t.PARAMETER_VALUE_LENGTH_MAX }))),
  description: t.Optional(t.Nullable(t.String({ maxLength: t.DESCRIPTION_LENGTH_MAX }))),
  hcl: t.Optional(t.Boolean()),
  sensitive: t.Optional(t.Boolean()),
}

export const NEW_VARIABLE = { key, category: t.OneOf(VARIABLE_CATEGORIES), ...writable }

export const WorkspaceVariableCreateRequest = t.RequestOf(
  'WorkspaceVariableCreateRequest',
  'vars',
  { attributes: t.Object(NEW_VARIABLE) },
)
export type WorkspaceVariableCreateRequest = t.Infer<typeof WorkspaceVariableCreateRequest>

export const WorkspaceVariableUpdateRequest = t.UpdateRequestOf(
  'WorkspaceVariableUpdateRequest',
  'vars',
  { key, category: t.OneOf(VARIABLE_CATEGORIES), ...writable },
)
export type WorkspaceVariableUpdateRequest = t.Infer<typeof WorkspaceVariableUpdateRequest>

const reads = 'Permission to read the variables of the workspace.'
const writes = 'Permission to write the variables of the workspace.'
const brokenRule = 'A rule on an attribute is broken, or the key is taken in its category.'

export const workspaceVariableRoutes = routes('Workspace variables', {
  listWorkspaceVariables: read('/workspaces/:workspace_id/vars', {
    summary: 'List the variables of a workspace, oldest first.',
    query: t.fieldsQuery('vars'),
    returns: WorkspaceVariableList,
    result: 'All variables.',
    needs: reads,
  }),
  listAllWorkspaceVariables: read('/workspaces/:workspace_id/all-vars', {
    summary: 'List the variables that the runs of a workspace get, with those of variable sets.',
    query: t.fieldsQuery('vars'),
    returns: WorkspaceVariableList,
    result: 'All variables.',
    needs: reads,
  }),
  findWorkspaceVariables: read('/vars', {
    summary: 'List the variables of a workspace that is named by the filters.',
    query: {
      'filter[organization][name]': t.String(),
      'filter[workspace][name]': t.String(),
      ...t.fieldsQuery('vars'),
    },
    returns: WorkspaceVariableList,
    result: 'All variables.',
    errors: {
      404: 'Workspace not found, or the caller may not see its variables.',
      422: 'One of the two names is not given.',
    },
    needs: reads,
  }),
  createWorkspaceVariable: create('/workspaces/:workspace_id/vars', {
    summary: 'Create a variable of a workspace.',
    body: WorkspaceVariableCreateRequest,
    returns: WorkspaceVariable,
    errors: { 422: brokenRule },
    needs: writes,
  }),
  readWorkspaceVariable: read('/workspaces/:workspace_id/vars/:variable_id', {
    summary: 'Show a variable of a workspace.',
    returns: WorkspaceVariable,
    needs: reads,
  }),
  updateWorkspaceVariable: update('/workspaces/:workspace_id/vars/:variable_id', {
    summary: 'Change a variable of a workspace.',
    body: WorkspaceVariableUpdateRequest,
    returns: WorkspaceVariable,
    errors: { 422: brokenRule },
    needs: writes,
  }),
  deleteWorkspaceVariable: remove('/workspaces/:workspace_id/vars/:variable_id', {
    summary: 'Delete a variable of a workspace.',
    needs: writes,
  }),
})
