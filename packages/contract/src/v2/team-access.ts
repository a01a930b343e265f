import * as t from './json-api.ts'
import { create, list, read, remove, update, routes } from './define.ts'

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
  settings: t.OneOf(ACCESS_VALUES.settings),
  teams: t.OneOf(ACCESS_VALUES.teams),
  'variable-sets': t.OneOf(ACCESS_VALUES['variable-sets']),
}

const workspaceValues = {
  runs: t.OneOf(ACCESS_VALUES.runs),
  variables: t.OneOf(ACCESS_VALUES.variables),
  'state-versions': t.OneOf(ACCESS_VALUES['state-versions']),
  'policy-mocks': t.OneOf(ACCESS_VALUES['policy-mocks']),
  'run-tasks': t.Boolean(),
  'policy-overrides': t.Boolean(),
}

const workspaceAccess = {
  ...workspaceValues,
  create: t.Boolean(),
  locking: t.Boolean(),
  delete: t.Boolean(),
  move: t.Boolean(),
}

const team = t.ToOne('teams')

/** Access of a team to a project. Both objects contain the effective values at every level. */
export const TeamProjectAccess = t.ResourceOf('TeamProjectAccess', 'team-projects', {
  attributes: t.Object({
    access: t.OneOf(PROJECT_ACCESS_LEVELS),
    'project-access': t.Object(projectAccess),
    'workspace-access': t.Object(workspaceAccess),
  }),
  relationships: t.Object({ team, project: t.ToOne('projects') }),
  links: t.SelfLink(),
})
export type TeamProjectAccess = t.Infer<typeof TeamProjectAccess>

/** Writable only with `access: custom`; rejected with a fixed level. */
const customProjectAccess = {
  'project-access': t.Optional(t.Partial(t.Object(projectAccess))),
  'workspace-access': t.Optional(t.Partial(t.Object(workspaceAccess))),
}

export const TeamProjectAccessCreateRequest = t.RequestOf(
  'TeamProjectAccessCreateRequest',
  'team-projects',
  {
    attributes: t.Object({ access: t.OneOf(PROJECT_ACCESS_LEVELS), ...customProjectAccess }),
    relationships: t.Object({ team, project: t.ToOne('projects') }),
  },
)
export type TeamProjectAccessCreateRequest = t.Infer<typeof TeamProjectAccessCreateRequest>

export const TeamProjectAccessUpdateRequest = t.UpdateRequestOf(
  'TeamProjectAccessUpdateRequest',
  'team-projects',
  { access: t.OneOf(PROJECT_ACCESS_LEVELS), ...customProjectAccess },
)
export type TeamProjectAccessUpdateRequest = t.Infer<typeof TeamProjectAccessUpdateRequest>

const customWorkspaceAccess = { ...workspaceValues, 'workspace-locking': t.Boolean() }

/** Access of a team to one workspace, in addition to its project access. */
export const TeamWorkspaceAccess = t.ResourceOf('TeamWorkspaceAccess', 'team-workspaces', {
  attributes: t.Object({ access: t.OneOf(WORKSPACE_ACCESS_LEVELS), ...customWorkspaceAccess }),
  relationships: t.Object({ team, workspace: t.ToOne('workspaces') }),
  links: t.SelfLink(),
})
export type TeamWorkspaceAccess = t.Infer<typeof TeamWorkspaceAccess>

export const TeamWorkspaceAccessCreateRequest = t.RequestOf(
  'TeamWorkspaceAccessCreateRequest',
  'team-workspaces',
  {
    attributes: t.Object({
      access: t.OneOf(WORKSPACE_ACCESS_LEVELS),
      ...t.Partial(t.Object(customWorkspaceAccess)).properties,
    }),
    relationships: t.Object({ team, workspace: t.ToOne('workspaces') }),
  },
)
export type TeamWorkspaceAccessCreateRequest = t.Infer<typeof TeamWorkspaceAccessCreateRequest>

export const TeamWorkspaceAccessUpdateRequest = t.UpdateRequestOf(
  'TeamWorkspaceAccessUpdateRequest',
  'team-workspaces',
  { access: t.OneOf(WORKSPACE_ACCESS_LEVELS), ...customWorkspaceAccess },
)
export type TeamWorkspaceAccessUpdateRequest = t.Infer<typeof TeamWorkspaceAccessUpdateRequest>

const brokenAccess =
  'The team has an access already, a value is unknown, or a value is read-only at a fixed level.'

const managesProject = 'Manage projects, or permission to manage the teams of the project.'
const noProjectAccess = 'Access not found, or the caller may not manage the teams of the project.'

const projectAccessRoutes = routes('Team access', {
  listTeamProjectAccesses: list('/team-projects', {
    summary: 'List the team accesses of a project.',
    query: { 'filter[project][id]': t.String() },
    returns: TeamProjectAccess,
    errors: {
      404: 'Project not found, or the caller may not read its teams.',
      422: '`filter[project][id]` is missing.',
    },
    needs: 'Permission to read the teams of the project.',
  }),
  createTeamProjectAccess: create('/team-projects', {
    summary: 'Give a team access to a project.',
    body: TeamProjectAccessCreateRequest,
    returns: TeamProjectAccess,
    result: 'Given.',
    errors: {
      404: 'Team or project not found, or the caller may not manage the teams of the project.',
      422: brokenAccess,
    },
    needs: managesProject,
  }),
  readTeamProjectAccess: read('/team-projects/:team_project_id', {
    summary: 'Show the access of a team to a project.',
    returns: TeamProjectAccess,
    errors: { 404: 'Access not found, or the caller may not read the teams of the project.' },
    needs: 'Permission to read the teams of the project.',
  }),
  updateTeamProjectAccess: update('/team-projects/:team_project_id', {
    summary: 'Change the access of a team to a project.',
    body: TeamProjectAccessUpdateRequest,
    returns: TeamProjectAccess,
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
      'filter[workspace][id]': t.String(),
      'filter[team][id]': t.Optional(t.String()),
    },
    returns: TeamWorkspaceAccess,
    errors: {
      404: 'Workspace not found, or not visible to the caller.',
      422: '`filter[workspace][id]` is missing.',
    },
    needs: 'Read access to the workspace.',
  }),
  createTeamWorkspaceAccess: create('/team-workspaces', {
    summary: 'Give a team access to a workspace.',
    body: TeamWorkspaceAccessCreateRequest,
    returns: TeamWorkspaceAccess,
    result: 'Given.',
    errors: {
      404: 'Team or workspace not found, or the caller has no admin access to the workspace.',
      422: brokenAccess,
    },
    needs: managesWorkspace,
  }),
  readTeamWorkspaceAccess: read('/team-workspaces/:team_workspace_id', {
    summary: 'Show the access of a team to a workspace.',
    returns: TeamWorkspaceAccess,
    errors: { 404: 'Access not found, or the workspace is not visible to the caller.' },
    needs: 'Read access to the workspace.',
  }),
  updateTeamWorkspaceAccess: update('/team-workspaces/:team_workspace_id', {
    summary: 'Change the access of a team to a workspace.',
    body: TeamWorkspaceAccessUpdateRequest,
    returns: TeamWorkspaceAccess,
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
