import * as t from './json-api.ts'
import { action, create, read, remove, routes } from './define.ts'

export const MEMBERSHIP_STATUSES = ['active', 'invited'] as const
export const MEMBERSHIP_INCLUDES = ['user', 'teams', 'organization'] as const

/** A user in an organization: `invited` until the user accepts, then `active`. */
export const OrganizationMembership = t.ResourceOf(
  'OrganizationMembership',
  'organization-memberships',
  {
    attributes: t.Object({
      status: t.OneOf(MEMBERSHIP_STATUSES),
      email: t.Email(),
      'created-at': t.Timestamp(),
    }),
    relationships: t.Object({
      teams: t.ToMany('teams'),
      user: t.ToOne('users'),
      organization: t.ToOne('organizations'),
    }),
    links: t.SelfLink(),
  },
)
export type OrganizationMembership = t.Infer<typeof OrganizationMembership>

export const OrganizationMembershipPage = t.PageOf(OrganizationMembership)
export type OrganizationMembershipPage = t.Infer<typeof OrganizationMembershipPage>

export const OrganizationMembershipCreateRequest = t.RequestOf(
  'OrganizationMembershipCreateRequest',
  'organization-memberships',
  {
    attributes: t.Object({ email: t.Email() }),
    relationships: t.Optional(t.Object({ teams: t.Optional(t.NewMembers('teams')) })),
  },
)
export type OrganizationMembershipCreateRequest = t.Infer<
  typeof OrganizationMembershipCreateRequest
>

const managers = 'Owners team, teams with Manage membership, or the organization token.'
const unseen = 'Membership not found, or not visible to the caller.'

const listQuery = {
  ...t.pageQuery,
  ...t.includeQuery(MEMBERSHIP_INCLUDES),
  ...t.fieldsQuery('organization-memberships'),
}

export const organizationMembershipRoutes = routes('Organization memberships', {
  listOrganizationMemberships: read('/organizations/:organization_name/organization-memberships', {
    summary: 'List the memberships of an organization.',
    query: {
      ...listQuery,
      q: t.Optional(t.String({ description: 'Part of username or email, case ignored.' })),
      'filter[status]': t.Optional(t.OneOf(MEMBERSHIP_STATUSES)),
      'filter[email]': t.Optional(
        t.String({ description: 'Comma-separated whole addresses, case ignored.' }),
      ),
    },
    returns: OrganizationMembershipPage,
    result: 'One page of memberships.',
    needs: 'Any member of the organization.',
  }),
  createOrganizationMembership: create(
    '/organizations/:organization_name/organization-memberships',
    {
      summary: 'Invite a user by email, at once into teams if wished.',
      body: OrganizationMembershipCreateRequest,
      returns: OrganizationMembership,
      result: 'Invited.',
      errors: {
        422: 'The email breaks its rules or is a member already, or a team does not exist.',
      },
      needs: managers,
    },
  ),
  listOwnOrganizationMemberships: read('/organization-memberships', {
    summary: 'List the memberships of the caller in all organizations.',
    query: listQuery,
    returns: OrganizationMembershipPage,
    result: 'One page of memberships.',
    errors: { 404: 'The token is not one of a user.' },
    needs: 'A user token.',
  }),
  readOrganizationMembership: read('/organization-memberships/:organization_membership_id', {
    summary: 'Show a membership.',
    query: t.includeQuery(MEMBERSHIP_INCLUDES),
    returns: OrganizationMembership,
    errors: { 404: unseen },
    needs: 'The user itself, or any member of the organization.',
  }),
  acceptOrganizationMembership: action(
    '/organization-memberships/:organization_membership_id/actions/accept',
    {
      summary: 'Accept an invitation, which makes the membership active.',
      returns: OrganizationMembership,
      errors: { 404: unseen, 409: 'The membership is active already.' },
      needs: 'The invited user itself.',
    },
  ),
  deleteOrganizationMembership: remove('/organization-memberships/:organization_membership_id', {
    summary: 'Take a user out of an organization and all its teams.',
    errors: { 404: unseen, 422: 'The user is the last owner of the organization.' },
    needs: `${managers} Also the user itself.`,
  }),
})
