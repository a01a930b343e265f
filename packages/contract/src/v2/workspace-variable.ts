// tidy-allow vendor: a category has the name of the program whose variables these are
import { Type } from 'typebox'
import { routes } from '../route.ts'
import { Nullable, Timestamp, type Infer } from '../schema.ts'
import { create, read, remove, update } from './define.ts'
import { DocumentOf, ListOf, OneOf, RequestOf, ResourceOf, SelfLink, ToOne } from './json-api.ts'
import {
  DESCRIPTION_LENGTH_MAX,
  PARAMETER_KEY_LENGTH_MAX,
  PARAMETER_VALUE_LENGTH_MAX,
} from './limits.ts'
import { fieldsQuery } from './query.ts'

/** A variable of the configuration, or of the environment in which the tool runs. */
export const VARIABLE_CATEGORIES = ['terraform', 'env'] as const

export const VARIABLE_ATTRIBUTES = {
  key: Type.String(),
  value: Nullable(Type.String({ description: 'Null once the variable is sensitive.' })),
  description: Nullable(Type.String()),
  category: OneOf(VARIABLE_CATEGORIES),
  hcl: Type.Boolean({ description: 'The value is an expression, not text.' }),
  sensitive: Type.Boolean({ description: 'Cannot be turned off again.' }),
  'version-id': Type.String({ description: 'Another one after each change.' }),
  'created-at': Timestamp(),
}

/** A value that the runs of a workspace get. */
export const WorkspaceVariable = ResourceOf('WorkspaceVariable', 'vars', {
  attributes: Type.Object(VARIABLE_ATTRIBUTES),
  relationships: Type.Object({
    configurable: ToOne('workspaces'),
    // The variable set that it comes from; absent for a variable of the workspace itself.
    varset: Type.Optional(ToOne('varsets')),
  }),
  links: SelfLink(),
})
export type WorkspaceVariable = Infer<typeof WorkspaceVariable>

export const WorkspaceVariableDocument = DocumentOf(WorkspaceVariable)

export const WorkspaceVariableList = ListOf(WorkspaceVariable)

const key = Type.String({ minLength: 1, maxLength: PARAMETER_KEY_LENGTH_MAX })
const writable = {
  // A missing value is an empty one.
  value: Type.Optional(Nullable(Type.String({ maxLength: PARAMETER_VALUE_LENGTH_MAX }))),
  description: Type.Optional(Nullable(Type.String({ maxLength: DESCRIPTION_LENGTH_MAX }))),
  hcl: Type.Optional(Type.Boolean()),
  sensitive: Type.Optional(Type.Boolean()),
}

export const NEW_VARIABLE = { key, category: OneOf(VARIABLE_CATEGORIES), ...writable }

export const WorkspaceVariableCreateRequest = RequestOf('WorkspaceVariableCreateRequest', 'vars', {
  attributes: Type.Object(NEW_VARIABLE),
})
export type WorkspaceVariableCreateRequest = Infer<typeof WorkspaceVariableCreateRequest>

export const WorkspaceVariableUpdateRequest = RequestOf('WorkspaceVariableUpdateRequest', 'vars', {
  attributes: Type.Optional(
    Type.Object({
      key: Type.Optional(key),
      category: Type.Optional(OneOf(VARIABLE_CATEGORIES)),
      ...writable,
    }),
  ),
})
export type WorkspaceVariableUpdateRequest = Infer<typeof WorkspaceVariableUpdateRequest>

const reads = 'Permission to read the variables of the workspace.'
const writes = 'Permission to write the variables of the workspace.'
const brokenRule = 'A rule on an attribute is broken, or the key is taken in its category.'

export const workspaceVariableRoutes = routes('Workspace variables', {
  listWorkspaceVariables: read('/workspaces/:workspace_id/vars', {
    summary: 'List the variables of a workspace, oldest first.',
    query: fieldsQuery('vars'),
    returns: WorkspaceVariableList,
    result: 'All variables.',
    needs: reads,
  }),
  listAllWorkspaceVariables: read('/workspaces/:workspace_id/all-vars', {
    summary: 'List the variables that the runs of a workspace get, with those of variable sets.',
    query: fieldsQuery('vars'),
    returns: WorkspaceVariableList,
    result: 'All variables.',
    needs: reads,
  }),
  findWorkspaceVariables: read('/vars', {
    summary: 'List the variables of a workspace that is named by the filters.',
    query: {
      'filter[organization][name]': Type.String(),
      'filter[workspace][name]': Type.String(),
      ...fieldsQuery('vars'),
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
    returns: WorkspaceVariableDocument,
    errors: { 422: brokenRule },
    needs: writes,
  }),
  readWorkspaceVariable: read('/workspaces/:workspace_id/vars/:variable_id', {
    summary: 'Show a variable of a workspace.',
    query: fieldsQuery('vars'),
    returns: WorkspaceVariableDocument,
    needs: reads,
  }),
  updateWorkspaceVariable: update('/workspaces/:workspace_id/vars/:variable_id', {
    summary: 'Change a variable of a workspace.',
    body: WorkspaceVariableUpdateRequest,
    returns: WorkspaceVariableDocument,
    errors: { 422: brokenRule },
    needs: writes,
  }),
  deleteWorkspaceVariable: remove('/workspaces/:workspace_id/vars/:variable_id', {
    summary: 'Delete a variable of a workspace.',
    needs: writes,
  }),
})
