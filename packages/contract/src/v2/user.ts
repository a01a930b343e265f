import { Type } from 'typebox'
import { routes } from '../route.ts'
import { create, list, read, remove, update } from './define.ts'
import { Nullable, type Infer } from '../schema.ts'
import { emptyResponse } from './answers.ts'
import {
  AnyIdentifier,
  DocumentOf,
  Flags,
  LinkedOnly,
  PageOf,
  PathLink,
  RequestOf,
  ResourceOf,
  SelfLink,
} from './json-api.ts'
import { Email, Name } from './patterns.ts'
import { fieldsQuery } from './query.ts'

export const ACCOUNT_PERMISSIONS = [
  'can-create-organizations',
  'can-change-email',
  'can-change-username',
  'can-manage-user-tokens',
] as const

const everywhere = {
  username: Name('Unique everywhere, case ignored.'),
  // Team and organization tokens act as service users.
  'is-service-account': Type.Boolean(),
  'avatar-url': Nullable(Type.String()),
}

/** A user as other members of an organization see it. */
export const User = ResourceOf('User', 'users', {
  attributes: Type.Object(everywhere),
  links: SelfLink(),
})
export type User = Infer<typeof User>

/** The caller itself. For a team or organization token: its service user. */
export const Account = ResourceOf('Account', 'users', {
  attributes: Type.Object({
    ...everywhere,
    email: Nullable(Email()),
    'is-admin': Type.Boolean({ description: 'Site administrator.' }),
    'two-factor': Type.Object({ enabled: Type.Boolean(), verified: Type.Boolean() }),
    permissions: Flags(ACCOUNT_PERMISSIONS),
  }),
  relationships: Type.Object({
    'authentication-tokens': LinkedOnly(),
    // Whom the token stands for, which is not the service user itself.
    'authenticated-resource': Type.Object({
      data: AnyIdentifier(['users', 'teams', 'organizations']),
      links: Type.Object({ related: PathLink() }),
    }),
  }),
  links: Type.Object({
    self: PathLink(),
    'auth-token': Nullable(PathLink('The token in use; null for the management token.')),
  }),
})
export type Account = Infer<typeof Account>

/** A user as the site administrator sees it. */
export const AdminUser = ResourceOf('AdminUser', 'users', {
  attributes: Type.Object({ ...everywhere, email: Nullable(Email()), 'is-admin': Type.Boolean() }),
  links: SelfLink(),
})
export type AdminUser = Infer<typeof AdminUser>

export const UserDocument = DocumentOf(User)

export const AccountDocument = DocumentOf(Account)

export const AdminUserDocument = DocumentOf(AdminUser)

export const AdminUserPage = PageOf(AdminUser)

const NEW_USERNAME =
  'Unique everywhere, case ignored. `administrator` and names that begin with `api-org-` or ' +
  '`api-team_` are reserved.'

export const AccountUpdateRequest = RequestOf('AccountUpdateRequest', 'users', {
  attributes: Type.Optional(
    Type.Object({ username: Type.Optional(Name(NEW_USERNAME)), email: Type.Optional(Email()) }),
  ),
})
export type AccountUpdateRequest = Infer<typeof AccountUpdateRequest>

export const UserCreateRequest = RequestOf('UserCreateRequest', 'users', {
  attributes: Type.Object({
    username: Name(NEW_USERNAME),
    email: Email(),
    'is-admin': Type.Optional(Type.Boolean({ default: false })),
  }),
})
export type UserCreateRequest = Infer<typeof UserCreateRequest>

const administrator = 'The site administrator.'
const hidden = 'The caller is not the site administrator.'

export const userRoutes = routes('Account and users', {
  ping: read('/ping', {
    summary: 'Tell that the service is there; the headers tell the rate limit.',
    answers: {
      204: emptyResponse('Here. `X-RateLimit-Limit` is the number of requests per second.'),
    },
    needs: 'none',
  }),
  readAccount: read('/account/details', {
    summary: 'Show who the caller is.',
    returns: AccountDocument,
    needs: 'Any valid token.',
  }),
  updateAccount: update('/account/update', {
    summary: 'Change the username or email of the caller.',
    body: AccountUpdateRequest,
    returns: AccountDocument,
    errors: {
      404: 'The token is not one of a user.',
      422: 'The username or email breaks its rules or is taken.',
    },
    needs: 'A user token.',
  }),
  readUser: read('/users/:user_id', {
    summary: 'Show a user.',
    query: fieldsQuery('users'),
    returns: UserDocument,
    errors: { 404: 'User not found, or shares no organization with the caller.' },
    needs: 'Membership in an organization of the user.',
  }),
  listUsers: list('/admin/users', {
    summary: 'List all users of the installation.',
    query: {
      q: Type.Optional(Type.String({ description: 'Part of username or email, case ignored.' })),
      ...fieldsQuery('users'),
    },
    returns: AdminUserPage,
    errors: { 404: hidden },
    needs: administrator,
  }),
  createUser: create('/admin/users', {
    summary: 'Create a user. There is no sign-up: the administrator hands out the first token.',
    body: UserCreateRequest,
    returns: AdminUserDocument,
    errors: { 404: hidden, 422: 'The username or email breaks its rules or is taken.' },
    needs: administrator,
  }),
  deleteUser: remove('/admin/users/:user_id', {
    summary: 'Delete a user with its tokens and memberships.',
    errors: { 422: 'The user is the last owner of an organization.' },
    needs: administrator,
  }),
})
