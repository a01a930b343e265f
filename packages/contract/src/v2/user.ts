import * as t from './json-api.ts'
import { create, list, read, remove, update, routes } from './define.ts'

export const ACCOUNT_PERMISSIONS = [
  'can-create-organizations',
  'can-change-email',
  'can-change-username',
  'can-manage-user-tokens',
] as const

const everywhere = {
  username: t.Name('Unique everywhere, case ignored.'),
  // Team and organization tokens act as service users.
  'is-service-account': t.Boolean(),
  'avatar-url': t.Nullable(t.String()),
}

/** A user as other members of an organization see it. */
export const User = t.ResourceOf('User', 'users', {
  attributes: t.Object(everywhere),
  links: t.SelfLink(),
})
export type User = t.Infer<typeof User>

/** The caller itself. For a team or organization token: its service user. */
export const Account = t.ResourceOf('Account', 'users', {
  attributes: t.Object({
    ...everywhere,
    email: t.Nullable(t.Email()),
    'is-admin': t.Boolean({ description: 'Site administrator.' }),
    'two-factor': t.Object({ enabled: t.Boolean(), verified: t.Boolean() }),
    permissions: t.Flags(ACCOUNT_PERMISSIONS),
  }),
  relationships: t.Object({
    'authentication-tokens': t.LinkedOnly(),
    // Whom the token stands for, which is not the service user itself.
    'authenticated-resource': t.Object({
      data: t.AnyIdentifier(['users', 'teams', 'organizations']),
      links: t.Object({ related: t.PathLink() }),
    }),
  }),
  links: t.Object({
    self: t.PathLink(),
    'auth-token': t.Nullable(t.PathLink('The token in use; null for the management token.')),
  }),
})
export type Account = t.Infer<typeof Account>

/** A user as the site administrator sees it. */
export const AdminUser = t.ResourceOf('AdminUser', 'users', {
  attributes: t.Object({ ...everywhere, email: t.Nullable(t.Email()), 'is-admin': t.Boolean() }),
  links: t.SelfLink(),
})
export type AdminUser = t.Infer<typeof AdminUser>

const NEW_USERNAME =
  'Unique everywhere, case ignored. `administrator` and names that begin with `api-org-` or ' +
  '`api-team_` are reserved.'

export const AccountUpdateRequest = t.UpdateRequestOf('AccountUpdateRequest', 'users', {
  username: t.Name(NEW_USERNAME),
  email: t.Email(),
})
export type AccountUpdateRequest = t.Infer<typeof AccountUpdateRequest>

export const UserCreateRequest = t.RequestOf('UserCreateRequest', 'users', {
  attributes: t.Object({
    username: t.Name(NEW_USERNAME),
    email: t.Email(),
    'is-admin': t.Optional(t.Boolean({ default: false })),
  }),
})
export type UserCreateRequest = t.Infer<typeof UserCreateRequest>

const administrator = 'The site administrator.'
const hidden = 'The caller is not the site administrator.'

export const userRoutes = routes('Account and users', {
  ping: read('/ping', {
    summary: 'Tell that the service is there; the headers tell the rate limit.',
    answers: {
      204: t.emptyResponse('Here. `X-RateLimit-Limit` is the number of requests per second.'),
    },
    needs: 'none',
  }),
  readAccount: read('/account/details', {
    summary: 'Show who the caller is.',
    returns: Account,
    needs: 'Any valid token.',
  }),
  updateAccount: update('/account/update', {
    summary: 'Change the username or email of the caller.',
    body: AccountUpdateRequest,
    returns: Account,
    errors: {
      404: 'The token is not one of a user.',
      422: 'The username or email breaks its rules or is taken.',
    },
    needs: 'A user token.',
  }),
  readUser: read('/users/:user_id', {
    summary: 'Show a user.',
    returns: User,
    errors: { 404: 'User not found, or shares no organization with the caller.' },
    needs: 'Membership in an organization of the user.',
  }),
  listUsers: list('/admin/users', {
    summary: 'List all users of the installation.',
    query: {
      q: t.Optional(t.String({ description: 'Part of username or email, case ignored.' })),
    },
    returns: AdminUser,
    errors: { 404: hidden },
    needs: administrator,
  }),
  createUser: create('/admin/users', {
    summary: 'Create a user. There is no sign-up: the administrator hands out the first token.',
    body: UserCreateRequest,
    returns: AdminUser,
    errors: { 404: hidden, 422: 'The username or email breaks its rules or is taken.' },
    needs: administrator,
  }),
  deleteUser: remove('/admin/users/:user_id', {
    summary: 'Delete a user with its tokens and memberships.',
    errors: { 422: 'The user is the last owner of an organization.' },
    needs: administrator,
  }),
})
