import { Type } from 'typebox'
import { routes } from '../route.ts'
import { create, list, read, remove, update } from './define.ts'
import type { Infer } from '../schema.ts'
import { DocumentOf, OneOf, PageOf, RequestOf, ResourceOf, SelfLink, ToOne } from './json-api.ts'
import { fieldsQuery } from './query.ts'

/** Each fixed level is a set of permissions; `custom` sets every permission separately. */
export const PROJECT_ACCESS_LEVELS = ['read', 'write', 'maintain', 'admin', 'custom'] as const
export type ProjectAccessLevel = (typeof PROJECT_ACCESS_LEVELS)[number]

export const WORKSPACE_ACCESS_LEVELS = ['read', 'plan', 'write', 'admin', 'custom'] as const
export type WorkspaceAccessLevel = (typeof WORKSPACE_ACCESS_LEVELS)[number]

/** Values of each permission from least to most; a higher value includes the lower ones. */
export const ACCESS_VALUES = {
  settings: ['read', 'update', 'delete'],
  teams: ['none', 'read', 'manage'],
  'variable-sets': ['none', 'read', 'write'],
  runs: ['read', 'plan', 'apply'],
  variables: ['none', 'read', 'write'],
  'state-versions': ['none', 'read-outputs', 'read', 'write'],
  'policy-mocks': ['none', 'read'],
} as const

const projectAccess = {
  settings: OneOf(ACCESS_VALUES.settings),
  teams: OneOf(ACCESS_VALUES.teams),
  'variable-sets': OneOf(ACCESS_VALUES['variable-sets']),
}

const workspaceValues = {
  runs: OneOf(ACCESS_VALUES.runs),
  variables: OneOf(ACCESS_VALUES.variables),
  'state-versions': OneOf(ACCESS_VALUES['state-versions']),
  'policy-mocks': OneOf(ACCESS_VALUES['policy-mocks']),
  'run-tasks': Type.Boolean(),
  'policy-overrides': Type.Boolean(),
}

const workspaceAccess = {
  ...workspaceValues,
  create: Type.Boolean(),
  locking: Type.Boolean(),
  delete: Type.Boolean(),
  move: Type.Boolean(),
}

const team = ToOne('teams')

/** Access of a team to a project. Both objects contain the effective values at every level. */
export const TeamProjectAccess = ResourceOf('TeamProjectAccess', 'team-projects', {
  attributes: Type.Object({
    access: OneOf(PROJECT_ACCESS_LEVELS),
    'project-access': Type.Object(projectAccess),
    'workspace-access': Type.Object(workspaceAccess),
  }),
  relationships: Type.Object({ team, project: ToOne('projects') }),
  links: SelfLink(),
})
export type TeamProjectAccess = Infer<typeof TeamProjectAccess>

export const TeamProjectAccessDocument = DocumentOf(TeamProjectAccess)

export const TeamProjectAccessPage = PageOf(TeamProjectAccess)

/** Writable only with `access: custom`; rejected with a fixed level. */
const customProjectAccess = {
  'project-access': Type.Optional(Type.Partial(Type.Object(projectAccess))),
  'workspace-access': Type.Optional(Type.Partial(Type.Object(workspaceAccess))),
}

export const TeamProjectAccessCreateRequest = RequestOf(
  'TeamProjectAccessCreateRequest',
  'team-projects',
  {
    attributes: Type.Object({ access: OneOf(PROJECT_ACCESS_LEVELS), ...customProjectAccess }),
    relationships: Type.Object({ team, project: ToOne('projects') }),
  },
)
export type TeamProjectAccessCreateRequest = Infer<typeof TeamProjectAccessCreateRequest>

export const TeamProjectAccessUpdateRequest = RequestOf(
  'TeamProjectAccessUpdateRequest',
  'team-projects',
  {
    attributes: Type.Optional(
      Type.Object({ access: Type.Optional(OneOf(PROJECT_ACCESS_LEVELS)), ...customProjectAccess }),
    ),
  },
)
export type TeamProjectAccessUpdateRequest = Infer<typeof TeamProjectAccessUpdateRequest>

const customWorkspaceAccess = { ...workspaceValues, 'workspace-locking': Type.Boolean() }

/** Access of a team to one workspace, in addition to its project access. */
export const TeamWorkspaceAccess = ResourceOf('TeamWorkspaceAccess', 'team-workspaces', {
  attributes: Type.Object({ access: OneOf(WORKSPACE_ACCESS_LEVELS), ...customWorkspaceAccess }),
  relationships: Type.Object({ team, workspace: ToOne('workspaces') }),
  links: SelfLink(),
})
export type TeamWorkspaceAccess = Infer<typeof TeamWorkspaceAccess>

export const TeamWorkspaceAccessDocument = DocumentOf(TeamWorkspaceAccess)

export const TeamWorkspaceAccessPage = PageOf(TeamWorkspaceAccess)

export const TeamWorkspaceAccessCreateRequest = RequestOf(
  'TeamWorkspaceAccessCreateRequest',
  'team-workspaces',
  {
    attributes: Type.Object({
      access: OneOf(WORKSPACE_ACCESS_LEVELS),
      ...Type.Partial(Type.Object(customWorkspaceAccess)).properties,
    }),
    relationships: Type.Object({ team, workspace: ToOne('workspaces') }),
  },
)
export type TeamWorkspaceAccessCreateRequest = Infer<typeof TeamWorkspaceAccessCreateRequest>

export const TeamWorkspaceAccessUpdateRequest = RequestOf(
  'TeamWorkspaceAccessUpdateRequest',
  'team-workspaces',
  {
    attributes: Type.Optional(
      Type.Partial(
        Type.Object({ access: OneOf(WORKSPACE_ACCESS_LEVELS), ...customWorkspaceAccess }),
      ),
    ),
  },
)
export type TeamWorkspaceAccessUpdateRequest = Infer<typeof TeamWorkspaceAccessUpdateRequest>

const brokenAccess =
  'The team has an access already, a value is unknown, or a value is read-only at a fixed level.'

const managesProject = 'Manage projects, or permission to manage the teams of the project.'
const noProjectAccess = 'Access not found, or the caller may not manage the teams of the project.'

const projectAccessRoutes = routes('Team access', {
  listTeamProjectAccesses: list('/team-projects', {
    summary: 'List the team accesses of a project.',
    query: { 'filter[project][id]': Type.String(), ...fieldsQuery('team-projects') },
    returns: TeamProjectAccessPage,
    errors: {
      404: 'Project not found, or the caller may not read its teams.',
      422: '`filter[project][id]` is missing.',
    },
    needs: 'Permission to read the teams of the project.',
  }),
  createTeamProjectAccess: create('/team-projects', {
    summary: 'Give a team access to a project.',
    body: TeamProjectAccessCreateRequest,
    returns: TeamProjectAccessDocument,
    result: 'Given.',
    errors: {
      404: 'Team or project not found, or the caller may not manage the teams of the project.',
      422: brokenAccess,
    },
    needs: managesProject,
  }),
  readTeamProjectAccess: read('/team-projects/:team_project_id', {
    summary: 'Show the access of a team to a project.',
    query: fieldsQuery('team-projects'),
    returns: TeamProjectAccessDocument,
    errors: { 404: 'Access not found, or the caller may not read the teams of the project.' },
    needs: 'Permission to read the teams of the project.',
  }),
  updateTeamProjectAccess: update('/team-projects/:team_project_id', {
    summary: 'Change the access of a team to a project.',
    body: TeamProjectAccessUpdateRequest,
    returns: TeamProjectAccessDocument,
    errors: { 404: noProjectAccess, 422: brokenAccess },
    needs: managesProject,
  }),
  deleteTeamProjectAccess: remove('/team-projects/:team_project_id', {
    summary: 'Take the access of a team to a project away.',
    errors: { 404: noProjectAccess },
    needs: managesProject,
  }),
})

const managesWorkspace = 'Admin access to the workspace, or Manage workspaces.'
const noWorkspaceAccess = 'Access not found, or the caller has no admin access to the workspace.'

const workspaceAccessRoutes = routes('Team access', {
  listTeamWorkspaceAccesses: list('/team-workspaces', {
    summary: 'List the team accesses of a workspace.',
    query: {
      'filter[workspace][id]': Type.String(),
      'filter[team][id]': Type.Optional(Type.String()),
      ...fieldsQuery('team-workspaces'),
    },
    returns: TeamWorkspaceAccessPage,
    errors: {
      404: 'Workspace not found, or not visible to the caller.',
      422: '`filter[workspace][id]` is missing.',
    },
    needs: 'Read access to the workspace.',
  }),
  createTeamWorkspaceAccess: create('/team-workspaces', {
    summary: 'Give a team access to a workspace.',
    body: TeamWorkspaceAccessCreateRequest,
    returns: TeamWorkspaceAccessDocument,
    result: 'Given.',
    errors: {
      404: 'Team or workspace not found, or the caller has no admin access to the workspace.',
      422: brokenAccess,
    },
    needs: managesWorkspace,
  }),
  readTeamWorkspaceAccess: read('/team-workspaces/:team_workspace_id', {
    summary: 'Show the access of a team to a workspace.',
    query: fieldsQuery('team-workspaces'),
    returns: TeamWorkspaceAccessDocument,
    errors: { 404: 'Access not found, or the workspace is not visible to the caller.' },
    needs: 'Read access to the workspace.',
  }),
  updateTeamWorkspaceAccess: update('/team-workspaces/:team_workspace_id', {
    summary: 'Change the access of a team to a workspace.',
    body: TeamWorkspaceAccessUpdateRequest,
    returns: TeamWorkspaceAccessDocument,
    errors: { 404: noWorkspaceAccess, 422: brokenAccess },
    needs: managesWorkspace,
  }),
  deleteTeamWorkspaceAccess: remove('/team-workspaces/:team_workspace_id', {
    summary: 'Take the access of a team to a workspace away.',
    errors: { 404: noWorkspaceAccess },
    needs: managesWorkspace,
  }),
})

export const teamAccessRoutes = routes('Team access', {
  ...projectAccessRoutes,
  ...workspaceAccessRoutes,
})
