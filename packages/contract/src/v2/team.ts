import { Type } from 'typebox'
import { route } from '../route.ts'
import type { Shape } from '../shape.ts'
import { answer, bodyRefusals, emptyAnswer, refusals } from './answers.ts'
import {
  DocumentOf,
  Flags,
  LinkedOnly,
  MembersRequestOf,
  OneOf,
  OptionalFlags,
  PageOf,
  RequestOf,
  ResourceOf,
  SelfLink,
  ToMany,
  ToOne,
} from './json-api.ts'
import { OrganizationPath, TeamPath } from './paths.ts'
import { Name, PrefixedId } from './patterns.ts'
import { fieldsQuery, includeQuery, pageQuery } from './query.ts'

export const TEAM_VISIBILITIES = ['secret', 'organization'] as const
export const TEAM_INCLUDES = ['users', 'organization_memberships'] as const

/**
 * Reference §4.2: what a team may do in the whole organization. `read-policies` is ours (reference
 * §3.5).
 */
export const ORGANIZATION_ACCESS = [
  'manage-projects',
  'manage-workspaces',
  'read-projects',
  'read-workspaces',
  'manage-policies',
  'read-policies',
  'manage-policy-overrides',
  'delegate-policy-overrides',
  'manage-membership',
  'manage-teams',
  'manage-organization-access',
  'access-secret-teams',
  'manage-run-tasks',
  'manage-agent-pools',
  'manage-vcs-settings',
  'manage-modules',
  'manage-providers',
] as const
export type OrganizationAccess = (typeof ORGANIZATION_ACCESS)[number]

export const TEAM_PERMISSIONS = [
  'can-update-membership',
  'can-destroy',
  'can-update-organization-access',
  'can-update-api-token',
  'can-update-visibility',
  'can-view-api-token',
] as const

export const Team = ResourceOf({
  $id: 'Team',
  type: 'teams',
  id: PrefixedId('teams'),
  members: {
    attributes: Type.Object({
      name: Name('Unique in the organization, case ignored.'),
      visibility: OneOf(TEAM_VISIBILITIES),
      'users-count': Type.Integer({ minimum: 0 }),
      'allow-member-token-management': Type.Boolean(),
      'organization-access': Flags(ORGANIZATION_ACCESS),
      permissions: Flags(TEAM_PERMISSIONS),
    }),
    relationships: Type.Object({
      organization: ToOne('organizations'),
      users: ToMany('users'),
      'organization-memberships': ToMany('organization-memberships'),
      'authentication-token': LinkedOnly(),
    }),
    links: SelfLink(),
  },
})
export type Team = Shape<typeof Team>

export const TeamDocument = DocumentOf('TeamDocument', Team)
export type TeamDocument = Shape<typeof TeamDocument>

export const TeamPage = PageOf('TeamPage', Team)
export type TeamPage = Shape<typeof TeamPage>

const writable = {
  visibility: Type.Optional(OneOf(TEAM_VISIBILITIES, '`secret` for a new team when omitted.')),
  'allow-member-token-management': Type.Optional(Type.Boolean()),
  // Merged key by key: what is not named stays, false for a new team (reference §4.2).
  'organization-access': Type.Optional(OptionalFlags(ORGANIZATION_ACCESS)),
}

export const TeamCreateRequest = RequestOf({
  $id: 'TeamCreateRequest',
  type: 'teams',
  members: {
    attributes: Type.Object({ name: Name('Unique in the organization.'), ...writable }),
  },
})
export type TeamCreateRequest = Shape<typeof TeamCreateRequest>

export const TeamUpdateRequest = RequestOf({
  $id: 'TeamUpdateRequest',
  type: 'teams',
  members: {
    attributes: Type.Optional(
      Type.Object({ name: Type.Optional(Name('Unique in the organization.')), ...writable }),
    ),
  },
})
export type TeamUpdateRequest = Shape<typeof TeamUpdateRequest>

/** The id of a user may be its username or its user id (reference §4.2). */
export const TeamUsersRequest = MembersRequestOf('TeamUsersRequest', 'users')
export type TeamUsersRequest = Shape<typeof TeamUsersRequest>

export const TeamMembershipsRequest = MembersRequestOf(
  'TeamMembershipsRequest',
  'organization-memberships',
)
export type TeamMembershipsRequest = Shape<typeof TeamMembershipsRequest>

const section = 'Teams'
const managers = 'Owners team, teams with Manage teams, or the organization token.'
const memberManagers = 'Owners team, teams with Manage membership, or the organization token.'
const unseen = 'Team not found, or not visible to the caller.'
const notManaged = 'Team not found, or the caller may not manage it.'
const brokenRule = 'A rule on an attribute is broken, or the name is taken.'
const noSuchUser = 'A user does not exist or is not a member of the organization.'
const brokenList = 'The list is empty, too long, or an item has no id or another type.'
const lastOwner = 'The last owner would leave the owners team, or the list is malformed.'

export const teamRoutes = {
  listTeams: route({
    id: 'listTeams',
    methods: ['GET'],
    path: '/api/v2/organizations/:organization_name/teams',
    summary: 'List visible teams and the secret teams of the caller: owners first, then by name.',
    section,
    params: OrganizationPath,
    query: Type.Object({
      ...pageQuery,
      q: Type.Optional(Type.String({ description: 'Part of the name, case ignored.' })),
      'filter[names]': Type.Optional(Type.String({ description: 'Comma-separated whole names.' })),
      ...includeQuery(TEAM_INCLUDES),
      ...fieldsQuery('teams'),
    }),
    answers: {
      200: answer('One page of teams.', TeamPage),
      ...refusals({ 404: 'Organization not found, or not visible to the caller.' }),
    },
    needs: 'Any member of the organization; the list holds what the caller may see.',
  }),
  createTeam: route({
    id: 'createTeam',
    methods: ['POST'],
    path: '/api/v2/organizations/:organization_name/teams',
    summary: 'Create a team.',
    section,
    params: OrganizationPath,
    body: TeamCreateRequest,
    answers: {
      201: answer('Created.', TeamDocument),
      ...bodyRefusals({
        404: 'Organization not found, or the caller may not create teams in it.',
        422: brokenRule,
      }),
    },
    needs: managers,
  }),
  readTeam: route({
    id: 'readTeam',
    methods: ['GET'],
    path: '/api/v2/teams/:team_id',
    summary: 'Show a team.',
    section,
    params: TeamPath,
    query: Type.Object({ ...includeQuery(TEAM_INCLUDES), ...fieldsQuery('teams') }),
    answers: { 200: answer('The team.', TeamDocument), ...refusals({ 404: unseen }) },
    needs: 'Any member of the organization; a secret team only for its members and managers.',
  }),
  updateTeam: route({
    id: 'updateTeam',
    methods: ['PATCH'],
    path: '/api/v2/teams/:team_id',
    summary: 'Change a team. Organization access is merged key by key.',
    section,
    params: TeamPath,
    body: TeamUpdateRequest,
    answers: {
      200: answer('The changed team.', TeamDocument),
      ...bodyRefusals({
        404: notManaged,
        409: 'The id in the body is not the one in the path.',
        422: `${brokenRule} Name and access of the owners team cannot be changed.`,
      }),
    },
    needs: `${managers} Organization access needs Manage organization access.`,
  }),
  deleteTeam: route({
    id: 'deleteTeam',
    methods: ['DELETE'],
    path: '/api/v2/teams/:team_id',
    summary: 'Delete a team with its tokens and accesses.',
    section,
    params: TeamPath,
    answers: {
      204: emptyAnswer('Deleted.'),
      ...refusals({ 404: notManaged, 422: 'The owners team cannot be deleted.' }),
    },
    needs: managers,
  }),
  addTeamUsers: route({
    id: 'addTeamUsers',
    methods: ['POST'],
    path: '/api/v2/teams/:team_id/relationships/users',
    summary: 'Add users to a team.',
    section,
    params: TeamPath,
    body: TeamUsersRequest,
    answers: {
      204: emptyAnswer('Added.'),
      ...bodyRefusals({ 400: noSuchUser, 404: notManaged, 422: brokenList }),
    },
    needs: memberManagers,
  }),
  removeTeamUsers: route({
    id: 'removeTeamUsers',
    methods: ['DELETE'],
    path: '/api/v2/teams/:team_id/relationships/users',
    summary: 'Take users out of a team.',
    section,
    params: TeamPath,
    body: TeamUsersRequest,
    answers: {
      204: emptyAnswer('Removed.'),
      ...bodyRefusals({ 400: noSuchUser, 404: notManaged, 422: lastOwner }),
    },
    needs: memberManagers,
  }),
  addTeamMemberships: route({
    id: 'addTeamMemberships',
    methods: ['POST'],
    path: '/api/v2/teams/:team_id/relationships/organization-memberships',
    summary: 'Add members of the organization to a team, invited ones too.',
    section,
    params: TeamPath,
    body: TeamMembershipsRequest,
    answers: {
      204: emptyAnswer('Added.'),
      ...bodyRefusals({ 404: notManaged, 422: brokenList }),
    },
    needs: memberManagers,
  }),
  removeTeamMemberships: route({
    id: 'removeTeamMemberships',
    methods: ['DELETE'],
    path: '/api/v2/teams/:team_id/relationships/organization-memberships',
    summary: 'Take members of the organization out of a team.',
    section,
    params: TeamPath,
    body: TeamMembershipsRequest,
    answers: {
      204: emptyAnswer('Removed.'),
      ...bodyRefusals({ 404: notManaged, 422: lastOwner }),
    },
    needs: memberManagers,
  }),
} as const
