import * as t from './json-api.ts'
import { add, create, list, read, remove, update, routes } from './define.ts'
import {
  NEW_VARIABLE,
  VARIABLE_ATTRIBUTES,
  WorkspaceVariableCreateRequest,
  WorkspaceVariableUpdateRequest,
} from './workspace-variable.ts'

export const VARIABLE_SET_INCLUDES = ['workspaces', 'projects', 'vars'] as const

/** Variables that the runs of several workspaces get. */
export const VariableSet = t.ResourceOf('VariableSet', 'varsets', {
  attributes: t.Object({
    name: t.TeamName('Unique among the sets of its parent, case ignored.'),
    description: t.Nullable(t.String()),
    global: t.Boolean({ description: 'Applies to every workspace of the organization.' }),
    priority: t.Boolean({
      description: 'Its values win over those of runs, workspaces and other sets.',
    }),
    'var-count': t.Integer({ minimum: 0 }),
    'workspace-count': t.Integer({ minimum: 0 }),
    'project-count': t.Integer({ minimum: 0 }),
    'created-at': t.Timestamp(),
    'updated-at': t.Timestamp(),
  }),
  relationships: t.Object({
    organization: t.ToOne('organizations'),
    parent: t.Object({ data: t.AnyIdentifier(['organizations', 'projects']) }),
    vars: t.ToMany('vars'),
    workspaces: t.ToMany('workspaces'),
    projects: t.ToMany('projects'),
  }),
  links: t.SelfLink(),
})
export type VariableSet = t.Infer<typeof VariableSet>

const writable = {
  description: t.Optional(t.Nullable(t.String({ maxLength: t.DESCRIPTION_LENGTH_MAX }))),
  global: t.Optional(t.Boolean()),
  priority: t.Optional(t.Boolean()),
}

const attachments = {
  workspaces: t.Optional(t.NewMembers('workspaces')),
  projects: t.Optional(t.NewMembers('projects')),
}

/** A parent that is a project owns the set, which then applies only inside of the project. */
export const VariableSetCreateRequest = t.RequestOf('VariableSetCreateRequest', 'varsets', {
  attributes: t.Object({ name: t.TeamName('Unique among the sets of its parent.'), ...writable }),
  relationships: t.Optional(
    t.Object({
      parent: t.Optional(t.Object({ data: t.AnyIdentifier(['organizations', 'projects']) })),
      ...attachments,
      vars: t.Optional(
        t.Object({
          data: t.Array(t.Object({ type: t.Literal('vars'), attributes: t.Object(NEW_VARIABLE) }), {
            maxItems: t.VARIABLES_MAX,
          }),
        }),
      ),
    }),
  ),
})
export type VariableSetCreateRequest = t.Infer<typeof VariableSetCreateRequest>

/** Each relationship that is present is replaced as a whole; `[]` clears it. */
export const VariableSetUpdateRequest = t.RequestOf('VariableSetUpdateRequest', 'varsets', {
  attributes: t.Optional(
    t.Object({ name: t.Optional(t.TeamName('Unique among the sets of its parent.')), ...writable }),
  ),
  relationships: t.Optional(t.Object(attachments)),
})
export type VariableSetUpdateRequest = t.Infer<typeof VariableSetUpdateRequest>

export const VariableSetWorkspacesRequest = t.MembersRequestOf(
  'VariableSetWorkspacesRequest',
  'workspaces',
)
export const VariableSetProjectsRequest = t.MembersRequestOf(
  'VariableSetProjectsRequest',
  'projects',
)

/** A variable of a set. */
export const VariableSetVariable = t.ResourceOf('VariableSetVariable', 'vars', {
  attributes: t.Object(VARIABLE_ATTRIBUTES),
  relationships: t.Object({ varset: t.ToOne('varsets') }),
  links: t.SelfLink(),
})
export type VariableSetVariable = t.Infer<typeof VariableSetVariable>

export const VariableSetVariableList = t.ListOf(VariableSetVariable)

const writes =
  'Owners team, teams with Manage workspaces, or the organization token; for a set of a project ' +
  'also teams that may write its variable sets.'
const reads =
  'Permission to write the set, or to read the variables of a workspace to which it applies.'
const brokenRule = 'A rule on an attribute is broken, the name is taken, or a member does not fit.'
const brokenVariable = 'A rule on an attribute is broken, or the key is taken in its category.'

const added = {
  result: 'Added; existing members are ignored.',
  errors: { 422: 'The set is global, or an id does not exist; nothing is changed.' },
  needs: writes,
} as const

const removed = {
  result: 'Removed; ids that were no members are ignored.',
  errors: { 422: 'The list is empty, too long, or an item has no id or another type.' },
  needs: writes,
} as const

const shown = { ...t.includeQuery(VARIABLE_SET_INCLUDES), ...t.fieldsQuery('varsets') }

export const variableSetRoutes = routes('Variable sets', {
  listVariableSets: list('/organizations/:organization_name/varsets', {
    summary: 'List the variable sets of an organization that the caller may read, by name.',
    query: {
      q: t.Optional(t.String({ description: 'Part of the name, case ignored.' })),
      ...shown,
    },
    returns: VariableSet,
    needs: 'Any member of the organization; the list has the sets that the caller may read.',
  }),
  createVariableSet: create('/organizations/:organization_name/varsets', {
    summary: 'Create a variable set, with its variables and the workspaces it applies to.',
    body: VariableSetCreateRequest,
    returns: VariableSet,
    errors: { 422: brokenRule },
    needs: writes,
  }),
  readVariableSet: read('/varsets/:variable_set_id', {
    summary: 'Show a variable set.',
    query: shown,
    returns: VariableSet,
    needs: reads,
  }),
  updateVariableSet: update('/varsets/:variable_set_id', {
    summary: 'Change a variable set. Turning `global` on removes its workspaces and projects.',
    query: shown,
    body: VariableSetUpdateRequest,
    returns: VariableSet,
    errors: { 422: brokenRule },
    needs: writes,
  }),
  deleteVariableSet: remove('/varsets/:variable_set_id', {
    summary: 'Delete a variable set with its variables.',
    needs: writes,
  }),
  listWorkspaceVariableSets: list('/workspaces/:workspace_id/varsets', {
    summary: 'List the variable sets that apply to a workspace, highest precedence first.',
    query: shown,
    returns: VariableSet,
    needs: 'Permission to read the variables of the workspace.',
  }),
  listProjectVariableSets: list('/projects/:project_id/varsets', {
    summary: 'List the variable sets that a project owns or that apply to all of it, by name.',
    query: shown,
    returns: VariableSet,
    needs: 'Read access to the project; the list has the sets that the caller may read.',
  }),
  addVariableSetWorkspaces: add('/varsets/:variable_set_id/relationships/workspaces', {
    summary: 'Apply a variable set to workspaces.',
    body: VariableSetWorkspacesRequest,
    ...added,
  }),
  removeVariableSetWorkspaces: remove('/varsets/:variable_set_id/relationships/workspaces', {
    summary: 'Stop applying a variable set to workspaces.',
    body: VariableSetWorkspacesRequest,
    ...removed,
  }),
  addVariableSetProjects: add('/varsets/:variable_set_id/relationships/projects', {
    summary: 'Apply a variable set to all workspaces of projects.',
    body: VariableSetProjectsRequest,
    ...added,
  }),
  removeVariableSetProjects: remove('/varsets/:variable_set_id/relationships/projects', {
    summary: 'Stop applying a variable set to projects.',
    body: VariableSetProjectsRequest,
    ...removed,
  }),
  listVariableSetVariables: read('/varsets/:variable_set_id/relationships/vars', {
    summary: 'List the variables of a variable set, oldest first.',
    query: t.fieldsQuery('vars'),
    returns: VariableSetVariableList,
    result: 'All variables.',
    needs: reads,
  }),
  createVariableSetVariable: create('/varsets/:variable_set_id/relationships/vars', {
    summary: 'Create a variable of a variable set.',
    body: WorkspaceVariableCreateRequest,
    returns: VariableSetVariable,
    errors: { 422: brokenVariable },
    needs: writes,
  }),
  readVariableSetVariable: read('/varsets/:variable_set_id/relationships/vars/:set_variable_id', {
    summary: 'Show a variable of a variable set.',
    returns: VariableSetVariable,
    needs: reads,
  }),
  updateVariableSetVariable: update(
    '/varsets/:variable_set_id/relationships/vars/:set_variable_id',
    {
      summary: 'Change a variable of a variable set.',
      body: WorkspaceVariableUpdateRequest,
      returns: VariableSetVariable,
      errors: { 422: brokenVariable },
      needs: writes,
    },
  ),
  deleteVariableSetVariable: remove(
    '/varsets/:variable_set_id/relationships/vars/:set_variable_id',
    { summary: 'Delete a variable of a variable set.', needs: writes },
  ),
})
