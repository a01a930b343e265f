import * as t from './json-api.ts'
import { add, create, list, read, remove, update, routes } from './define.ts'

export const TEAM_VISIBILITIES = ['secret', 'organization'] as const
export const TEAM_INCLUDES = ['users', 'organization_memberships'] as const

/** Organization-wide permissions of a team. `read-policies` is specific to this product. */
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

export const Team = t.ResourceOf('Team', 'teams', {
  attributes: t.Object({
    name: t.TeamName('Unique in the organization, case ignored.'),
    visibility: t.OneOf(TEAM_VISIBILITIES),
    'users-count': t.Integer({ minimum: 0 }),
    'allow-member-token-management': t.Boolean(),
    'organization-access': t.Flags(ORGANIZATION_ACCESS),
    permissions: t.Flags(TEAM_PERMISSIONS),
  }),
  relationships: t.Object({
    organization: t.ToOne('organizations'),
    users: t.ToMany('users'),
    'organization-memberships': t.ToMany('organization-memberships'),
    'authentication-token': t.LinkedOnly(),
  }),
  links: t.SelfLink(),
})
export type Team = t.Infer<typeof Team>

export const TeamDocument = t.DocumentOf(Team)
export type TeamDocument = t.Infer<typeof TeamDocument>

export type TeamPage = t.Page<typeof Team>

const writable = {
  visibility: t.Optional(t.OneOf(TEAM_VISIBILITIES, '`secret` for a new team when omitted.')),
  'allow-member-token-management': t.Optional(t.Boolean()),
  // Merged by key: omitted permissions are unchanged, or false for a new team.
  'organization-access': t.Optional(t.OptionalFlags(ORGANIZATION_ACCESS)),
}

export const TeamCreateRequest = t.RequestOf('TeamCreateRequest', 'teams', {
  attributes: t.Object({ name: t.TeamName('Unique in the organization.'), ...writable }),
})
export type TeamCreateRequest = t.Infer<typeof TeamCreateRequest>

export const TeamUpdateRequest = t.UpdateRequestOf('TeamUpdateRequest', 'teams', {
  name: t.TeamName('Unique in the organization.'),
  ...writable,
})
export type TeamUpdateRequest = t.Infer<typeof TeamUpdateRequest>

/** The id of a user may be its username or its user id. */
export const TeamUsersRequest = t.MembersRequestOf('TeamUsersRequest', 'users')

export const TeamMembershipsRequest = t.MembersRequestOf(
  'TeamMembershipsRequest',
  'organization-memberships',
)

const managers = 'Owners team, teams with Manage teams, or the organization token.'
const memberManagers = 'Owners team, teams with Manage membership, or the organization token.'
const brokenRule = 'A rule on an attribute is broken, or the name is taken.'
const noSuchUser = 'A user does not exist or is not a member of the organization.'
const brokenList = 'The list is empty, too long, or an item has no id or another type.'
const lastOwner = 'The last owner would leave the owners team, or the list is malformed.'

export const teamRoutes = routes('Teams', {
  listTeams: list('/organizations/:organization_name/teams', {
    summary: 'List visible teams and the secret teams of the caller: owners first, then by name.',
    query: {
      q: t.Optional(t.String({ description: 'Part of the name, case ignored.' })),
      'filter[names]': t.Optional(t.String({ description: 'Comma-separated whole names.' })),
      ...t.includeQuery(TEAM_INCLUDES),
    },
    returns: Team,
    needs: 'Any member of the organization; the list holds what the caller may see.',
  }),
  createTeam: create('/organizations/:organization_name/teams', {
    summary: 'Create a team.',
    body: TeamCreateRequest,
    returns: Team,
    errors: { 422: brokenRule },
    needs: managers,
  }),
  readTeam: read('/teams/:team_id', {
    summary: 'Show a team.',
    query: t.includeQuery(TEAM_INCLUDES),
    returns: Team,
    needs: 'Any member of the organization; a secret team only for its members and managers.',
  }),
  updateTeam: update('/teams/:team_id', {
    summary: 'Change a team. Organization access is merged key by key.',
    body: TeamUpdateRequest,
    returns: Team,
    errors: { 422: `${brokenRule} Name and access of the owners team cannot be changed.` },
    needs: `${managers} Organization access needs Manage organization access.`,
  }),
  deleteTeam: remove('/teams/:team_id', {
    summary: 'Delete a team with its tokens and accesses.',
    errors: { 422: 'The owners team cannot be deleted.' },
    needs: managers,
  }),
  addTeamUsers: add('/teams/:team_id/relationships/users', {
    summary: 'Add users to a team.',
    body: TeamUsersRequest,
    errors: { 400: noSuchUser, 422: brokenList },
    needs: memberManagers,
  }),
  removeTeamUsers: remove('/teams/:team_id/relationships/users', {
    summary: 'Take users out of a team.',
    body: TeamUsersRequest,
    errors: { 400: noSuchUser, 422: lastOwner },
    needs: memberManagers,
  }),
  addTeamMemberships: add('/teams/:team_id/relationships/organization-memberships', {
    summary: 'Add members of the organization to a team, invited ones too.',
    body: TeamMembershipsRequest,
    errors: { 422: brokenList },
    needs: memberManagers,
  }),
  removeTeamMemberships: remove('/teams/:team_id/relationships/organization-memberships', {
    summary: 'Take members of the organization out of a team.',
    body: TeamMembershipsRequest,
    errors: { 422: lastOwner },
    needs: memberManagers,
  }),
})
