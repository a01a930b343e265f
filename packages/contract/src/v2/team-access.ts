import { Type } from 'typebox'
import { route } from '../route.ts'
import type { Shape } from '../shape.ts'
import { answer, bodyRefusals, emptyAnswer, refusals } from './answers.ts'
import { DocumentOf, OneOf, PageOf, RequestOf, ResourceOf, SelfLink, ToOne } from './json-api.ts'
import { TeamProjectPath, TeamWorkspacePath } from './paths.ts'
import { PrefixedId } from './patterns.ts'
import { fieldsQuery, pageQuery } from './query.ts'

/** Reference §4.4. The fixed levels stand for a row of permissions; `custom` names each. */
export const PROJECT_ACCESS_LEVELS = ['read', 'write', 'maintain', 'admin', 'custom'] as const
export type ProjectAccessLevel = (typeof PROJECT_ACCESS_LEVELS)[number]

export const WORKSPACE_ACCESS_LEVELS = ['read', 'plan', 'write', 'admin', 'custom'] as const
export type WorkspaceAccessLevel = (typeof WORKSPACE_ACCESS_LEVELS)[number]

/**
 * The values of each permission, from least to most, so that a greater position includes the lesser
 * ones.
 */
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

/**
 * What a team may do in a project. Both objects show the effective values, whatever the level is.
 */
export const TeamProjectAccess = ResourceOf({
  $id: 'TeamProjectAccess',
  type: 'team-projects',
  id: PrefixedId('team-projects'),
  members: {
    attributes: Type.Object({
      access: OneOf(PROJECT_ACCESS_LEVELS),
      'project-access': Type.Object(projectAccess),
      'workspace-access': Type.Object(workspaceAccess),
    }),
    relationships: Type.Object({ team, project: ToOne('projects') }),
    links: SelfLink(),
  },
})
export type TeamProjectAccess = Shape<typeof TeamProjectAccess>

export const TeamProjectAccessDocument = DocumentOf('TeamProjectAccessDocument', TeamProjectAccess)
export type TeamProjectAccessDocument = Shape<typeof TeamProjectAccessDocument>

export const TeamProjectAccessPage = PageOf('TeamProjectAccessPage', TeamProjectAccess)
export type TeamProjectAccessPage = Shape<typeof TeamProjectAccessPage>

/** Writable only with `access: custom`; a fixed level refuses them (reference §4.4). */
const customProjectAccess = {
  'project-access': Type.Optional(Type.Partial(Type.Object(projectAccess))),
  'workspace-access': Type.Optional(Type.Partial(Type.Object(workspaceAccess))),
}

export const TeamProjectAccessCreateRequest = RequestOf({
  $id: 'TeamProjectAccessCreateRequest',
  type: 'team-projects',
  members: {
    attributes: Type.Object({ access: OneOf(PROJECT_ACCESS_LEVELS), ...customProjectAccess }),
    relationships: Type.Object({ team, project: ToOne('projects') }),
  },
})
export type TeamProjectAccessCreateRequest = Shape<typeof TeamProjectAccessCreateRequest>

export const TeamProjectAccessUpdateRequest = RequestOf({
  $id: 'TeamProjectAccessUpdateRequest',
  type: 'team-projects',
  members: {
    attributes: Type.Optional(
      Type.Object({ access: Type.Optional(OneOf(PROJECT_ACCESS_LEVELS)), ...customProjectAccess }),
    ),
  },
})
export type TeamProjectAccessUpdateRequest = Shape<typeof TeamProjectAccessUpdateRequest>

const customWorkspaceAccess = { ...workspaceValues, 'workspace-locking': Type.Boolean() }

/** What a team may do in one workspace, beyond what its project grants. */
export const TeamWorkspaceAccess = ResourceOf({
  $id: 'TeamWorkspaceAccess',
  type: 'team-workspaces',
  id: PrefixedId('team-workspaces'),
  members: {
    attributes: Type.Object({ access: OneOf(WORKSPACE_ACCESS_LEVELS), ...customWorkspaceAccess }),
    relationships: Type.Object({ team, workspace: ToOne('workspaces') }),
    links: SelfLink(),
  },
})
export type TeamWorkspaceAccess = Shape<typeof TeamWorkspaceAccess>

export const TeamWorkspaceAccessDocument = DocumentOf(
  'TeamWorkspaceAccessDocument',
  TeamWorkspaceAccess,
)
export type TeamWorkspaceAccessDocument = Shape<typeof TeamWorkspaceAccessDocument>

export const TeamWorkspaceAccessPage = PageOf('TeamWorkspaceAccessPage', TeamWorkspaceAccess)
export type TeamWorkspaceAccessPage = Shape<typeof TeamWorkspaceAccessPage>

export const TeamWorkspaceAccessCreateRequest = RequestOf({
  $id: 'TeamWorkspaceAccessCreateRequest',
  type: 'team-workspaces',
  members: {
    attributes: Type.Object({
      access: OneOf(WORKSPACE_ACCESS_LEVELS),
      ...Type.Partial(Type.Object(customWorkspaceAccess)).properties,
    }),
    relationships: Type.Object({ team, workspace: ToOne('workspaces') }),
  },
})
export type TeamWorkspaceAccessCreateRequest = Shape<typeof TeamWorkspaceAccessCreateRequest>

export const TeamWorkspaceAccessUpdateRequest = RequestOf({
  $id: 'TeamWorkspaceAccessUpdateRequest',
  type: 'team-workspaces',
  members: {
    attributes: Type.Optional(
      Type.Partial(
        Type.Object({ access: OneOf(WORKSPACE_ACCESS_LEVELS), ...customWorkspaceAccess }),
      ),
    ),
  },
})
export type TeamWorkspaceAccessUpdateRequest = Shape<typeof TeamWorkspaceAccessUpdateRequest>

const section = 'Team access'
const brokenAccess =
  'The team has an access already, a value is unknown, or a value is read-only at a fixed level.'
const idDiffers = 'The id in the body is not the one in the path.'

const managesProject = 'Manage projects, or permission to manage the teams of the project.'
const noProjectAccess = 'Access not found, or the caller may not manage the teams of the project.'

const projectAccessRoutes = {
  listTeamProjectAccesses: route({
    id: 'listTeamProjectAccesses',
    methods: ['GET'],
    path: '/api/v2/team-projects',
    summary: 'List the team accesses of a project.',
    section,
    query: Type.Object({
      'filter[project][id]': Type.String(),
      ...pageQuery,
      ...fieldsQuery('team-projects'),
    }),
    answers: {
      200: answer('One page of accesses.', TeamProjectAccessPage),
      ...refusals({
        404: 'Project not found, or the caller may not read its teams.',
        422: '`filter[project][id]` is missing.',
      }),
    },
    needs: 'Permission to read the teams of the project.',
  }),
  createTeamProjectAccess: route({
    id: 'createTeamProjectAccess',
    methods: ['POST'],
    path: '/api/v2/team-projects',
    summary: 'Give a team access to a project.',
    section,
    body: TeamProjectAccessCreateRequest,
    answers: {
      201: answer('Given.', TeamProjectAccessDocument),
      ...bodyRefusals({
        404: 'Team or project not found, or the caller may not manage the teams of the project.',
        422: brokenAccess,
      }),
    },
    needs: managesProject,
  }),
  readTeamProjectAccess: route({
    id: 'readTeamProjectAccess',
    methods: ['GET'],
    path: '/api/v2/team-projects/:team_project_id',
    summary: 'Show the access of a team to a project.',
    section,
    params: TeamProjectPath,
    query: Type.Object(fieldsQuery('team-projects')),
    answers: {
      200: answer('The access.', TeamProjectAccessDocument),
      ...refusals({
        404: 'Access not found, or the caller may not read the teams of the project.',
      }),
    },
    needs: 'Permission to read the teams of the project.',
  }),
  updateTeamProjectAccess: route({
    id: 'updateTeamProjectAccess',
    methods: ['PATCH'],
    path: '/api/v2/team-projects/:team_project_id',
    summary: 'Change the access of a team to a project.',
    section,
    params: TeamProjectPath,
    body: TeamProjectAccessUpdateRequest,
    answers: {
      200: answer('The changed access.', TeamProjectAccessDocument),
      ...bodyRefusals({ 404: noProjectAccess, 409: idDiffers, 422: brokenAccess }),
    },
    needs: managesProject,
  }),
  deleteTeamProjectAccess: route({
    id: 'deleteTeamProjectAccess',
    methods: ['DELETE'],
    path: '/api/v2/team-projects/:team_project_id',
    summary: 'Take the access of a team to a project away.',
    section,
    params: TeamProjectPath,
    answers: { 204: emptyAnswer('Taken away.'), ...refusals({ 404: noProjectAccess }) },
    needs: managesProject,
  }),
} as const

const managesWorkspace = 'Admin access to the workspace, or Manage workspaces.'
const noWorkspaceAccess = 'Access not found, or the caller has no admin access to the workspace.'

const workspaceAccessRoutes = {
  listTeamWorkspaceAccesses: route({
    id: 'listTeamWorkspaceAccesses',
    methods: ['GET'],
    path: '/api/v2/team-workspaces',
    summary: 'List the team accesses of a workspace.',
    section,
    query: Type.Object({
      'filter[workspace][id]': Type.String(),
      'filter[team][id]': Type.Optional(Type.String()),
      ...pageQuery,
      ...fieldsQuery('team-workspaces'),
    }),
    answers: {
      200: answer('One page of accesses.', TeamWorkspaceAccessPage),
      ...refusals({
        404: 'Workspace not found, or not visible to the caller.',
        422: '`filter[workspace][id]` is missing.',
      }),
    },
    needs: 'Read access to the workspace.',
  }),
  createTeamWorkspaceAccess: route({
    id: 'createTeamWorkspaceAccess',
    methods: ['POST'],
    path: '/api/v2/team-workspaces',
    summary: 'Give a team access to a workspace.',
    section,
    body: TeamWorkspaceAccessCreateRequest,
    answers: {
      201: answer('Given.', TeamWorkspaceAccessDocument),
      ...bodyRefusals({
        404: 'Team or workspace not found, or the caller has no admin access to the workspace.',
        422: brokenAccess,
      }),
    },
    needs: managesWorkspace,
  }),
  readTeamWorkspaceAccess: route({
    id: 'readTeamWorkspaceAccess',
    methods: ['GET'],
    path: '/api/v2/team-workspaces/:team_workspace_id',
    summary: 'Show the access of a team to a workspace.',
    section,
    params: TeamWorkspacePath,
    query: Type.Object(fieldsQuery('team-workspaces')),
    answers: {
      200: answer('The access.', TeamWorkspaceAccessDocument),
      ...refusals({ 404: 'Access not found, or the workspace is not visible to the caller.' }),
    },
    needs: 'Read access to the workspace.',
  }),
  updateTeamWorkspaceAccess: route({
    id: 'updateTeamWorkspaceAccess',
    methods: ['PATCH'],
    path: '/api/v2/team-workspaces/:team_workspace_id',
    summary: 'Change the access of a team to a workspace.',
    section,
    params: TeamWorkspacePath,
    body: TeamWorkspaceAccessUpdateRequest,
    answers: {
      200: answer('The changed access.', TeamWorkspaceAccessDocument),
      ...bodyRefusals({ 404: noWorkspaceAccess, 409: idDiffers, 422: brokenAccess }),
    },
    needs: managesWorkspace,
  }),
  deleteTeamWorkspaceAccess: route({
    id: 'deleteTeamWorkspaceAccess',
    methods: ['DELETE'],
    path: '/api/v2/team-workspaces/:team_workspace_id',
    summary: 'Take the access of a team to a workspace away.',
    section,
    params: TeamWorkspacePath,
    answers: { 204: emptyAnswer('Taken away.'), ...refusals({ 404: noWorkspaceAccess }) },
    needs: managesWorkspace,
  }),
} as const

export const teamAccessRoutes = { ...projectAccessRoutes, ...workspaceAccessRoutes } as const
