import { Type } from 'typebox'
import { routes } from '../route.ts'
import { action, create, read, remove } from './define.ts'
import { Timestamp, type Infer } from '../schema.ts'
import {
  DocumentOf,
  NewMembers,
  OneOf,
  PageOf,
  RequestOf,
  ResourceOf,
  SelfLink,
  ToMany,
  ToOne,
} from './json-api.ts'
import { Email } from './patterns.ts'
import { fieldsQuery, includeQuery, pageQuery } from './query.ts'

export const MEMBERSHIP_STATUSES = ['active', 'invited'] as const
export const MEMBERSHIP_INCLUDES = ['user', 'teams', 'organization'] as const

/** A user in an organization: `invited` until the user accepts, then `active`. */
export const OrganizationMembership = ResourceOf(
  'OrganizationMembership',
  'organization-memberships',
  {
    attributes: Type.Object({
      status: OneOf(MEMBERSHIP_STATUSES),
      email: Email(),
      'created-at': Timestamp(),
    }),
    relationships: Type.Object({
      teams: ToMany('teams'),
      user: ToOne('users'),
      organization: ToOne('organizations'),
    }),
    links: SelfLink(),
  },
)
export type OrganizationMembership = Infer<typeof OrganizationMembership>

export const OrganizationMembershipDocument = DocumentOf(OrganizationMembership)

export const OrganizationMembershipPage = PageOf(OrganizationMembership)
export type OrganizationMembershipPage = Infer<typeof OrganizationMembershipPage>

export const OrganizationMembershipCreateRequest = RequestOf(
  'OrganizationMembershipCreateRequest',
  'organization-memberships',
  {
    attributes: Type.Object({ email: Email() }),
    relationships: Type.Optional(Type.Object({ teams: Type.Optional(NewMembers('teams')) })),
  },
)
export type OrganizationMembershipCreateRequest = Infer<typeof OrganizationMembershipCreateRequest>

const managers = 'Owners team, teams with Manage membership, or the organization token.'
const unseen = 'Membership not found, or not visible to the caller.'

const listQuery = {
  ...pageQuery,
  ...includeQuery(MEMBERSHIP_INCLUDES),
  ...fieldsQuery('organization-memberships'),
}

export const organizationMembershipRoutes = routes('Organization memberships', {
  listOrganizationMemberships: read('/organizations/:organization_name/organization-memberships', {
    summary: 'List the memberships of an organization.',
    query: {
      ...listQuery,
      q: Type.Optional(Type.String({ description: 'Part of username or email, case ignored.' })),
      'filter[status]': Type.Optional(OneOf(MEMBERSHIP_STATUSES)),
      'filter[email]': Type.Optional(
        Type.String({ description: 'Comma-separated whole addresses, case ignored.' }),
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
      returns: OrganizationMembershipDocument,
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
    query: { ...includeQuery(MEMBERSHIP_INCLUDES), ...fieldsQuery('organization-memberships') },
    returns: OrganizationMembershipDocument,
    errors: { 404: unseen },
    needs: 'The user itself, or any member of the organization.',
  }),
  acceptOrganizationMembership: action(
    '/organization-memberships/:organization_membership_id/actions/accept',
    {
      summary: 'Accept an invitation, which makes the membership active.',
      returns: OrganizationMembershipDocument,
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
