import { Type } from 'typebox'
import { route } from '../route.ts'
import { Nullable, type Shape } from '../shape.ts'
import { answer, bodyRefusals, emptyAnswer, refusals } from './answers.ts'
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
import { UserPath } from './paths.ts'
import { Email, Name, PrefixedId } from './patterns.ts'
import { fieldsQuery, pageQuery } from './query.ts'

export const ACCOUNT_PERMISSIONS = [
  'can-create-organizations',
  'can-change-email',
  'can-change-username',
  'can-manage-user-tokens',
] as const

const everywhere = {
  username: Name('Unique everywhere, case ignored.'),
  // Team and organization tokens act as service users (reference §1.7).
  'is-service-account': Type.Boolean(),
  'avatar-url': Nullable(Type.String()),
}

/** A user as other members of an organization see it. */
export const User = ResourceOf({
  $id: 'User',
  type: 'users',
  id: PrefixedId('users'),
  members: { attributes: Type.Object(everywhere), links: SelfLink() },
})
export type User = Shape<typeof User>

/** The caller itself (reference §4.1). For a team or organization token: its service user. */
export const Account = ResourceOf({
  $id: 'Account',
  type: 'users',
  id: PrefixedId('users'),
  members: {
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
  },
})
export type Account = Shape<typeof Account>

/** A user as the site administrator sees it. */
export const AdminUser = ResourceOf({
  $id: 'AdminUser',
  type: 'users',
  id: PrefixedId('users'),
  members: {
    attributes: Type.Object({
      ...everywhere,
      email: Nullable(Email()),
      'is-admin': Type.Boolean(),
    }),
    links: SelfLink(),
  },
})
export type AdminUser = Shape<typeof AdminUser>

export const UserDocument = DocumentOf('UserDocument', User)
export type UserDocument = Shape<typeof UserDocument>

export const AccountDocument = DocumentOf('AccountDocument', Account)
export type AccountDocument = Shape<typeof AccountDocument>

export const AdminUserDocument = DocumentOf('AdminUserDocument', AdminUser)
export type AdminUserDocument = Shape<typeof AdminUserDocument>

export const AdminUserPage = PageOf('AdminUserPage', AdminUser)
export type AdminUserPage = Shape<typeof AdminUserPage>

const NEW_USERNAME =
  'Unique everywhere, case ignored. `administrator` and names that begin with `api-org-` or ' +
  '`api-team_` are reserved.'

export const AccountUpdateRequest = RequestOf({
  $id: 'AccountUpdateRequest',
  type: 'users',
  members: {
    attributes: Type.Optional(
      Type.Object({
        username: Type.Optional(Name(NEW_USERNAME)),
        email: Type.Optional(Email()),
      }),
    ),
  },
})
export type AccountUpdateRequest = Shape<typeof AccountUpdateRequest>

export const UserCreateRequest = RequestOf({
  $id: 'UserCreateRequest',
  type: 'users',
  members: {
    attributes: Type.Object({
      username: Name(NEW_USERNAME),
      email: Email(),
      'is-admin': Type.Optional(Type.Boolean({ default: false })),
    }),
  },
})
export type UserCreateRequest = Shape<typeof UserCreateRequest>

const section = 'Account and users'
const administrator = 'The site administrator.'
const hidden = 'The caller is not the site administrator.'

export const userRoutes = {
  ping: route({
    id: 'ping',
    methods: ['GET'],
    path: '/api/v2/ping',
    summary: 'Tell that the service is there; the headers tell the rate limit.',
    section,
    answers: {
      204: emptyAnswer('Here. `X-RateLimit-Limit` is the number of requests per second.'),
      ...refusals({}),
    },
    needs: 'none',
  }),
  readAccount: route({
    id: 'readAccount',
    methods: ['GET'],
    path: '/api/v2/account/details',
    summary: 'Show who the caller is.',
    section,
    answers: { 200: answer('The caller.', AccountDocument), ...refusals({}) },
    needs: 'Any valid token.',
  }),
  updateAccount: route({
    id: 'updateAccount',
    methods: ['PATCH'],
    path: '/api/v2/account/update',
    summary: 'Change the username or email of the caller.',
    section,
    body: AccountUpdateRequest,
    answers: {
      200: answer('The changed account.', AccountDocument),
      ...bodyRefusals({
        404: 'The token is not one of a user.',
        422: 'The username or email breaks its rules or is taken.',
      }),
    },
    needs: 'A user token.',
  }),
  readUser: route({
    id: 'readUser',
    methods: ['GET'],
    path: '/api/v2/users/:user_id',
    summary: 'Show a user.',
    section,
    params: UserPath,
    query: Type.Object(fieldsQuery('users')),
    answers: {
      200: answer('The user.', UserDocument),
      ...refusals({ 404: 'User not found, or shares no organization with the caller.' }),
    },
    needs: 'Membership in an organization of the user.',
  }),
  listUsers: route({
    id: 'listUsers',
    methods: ['GET'],
    path: '/api/v2/admin/users',
    summary: 'List all users of the installation.',
    section,
    query: Type.Object({
      ...pageQuery,
      q: Type.Optional(Type.String({ description: 'Part of username or email, case ignored.' })),
      ...fieldsQuery('users'),
    }),
    answers: { 200: answer('One page of users.', AdminUserPage), ...refusals({ 404: hidden }) },
    needs: administrator,
  }),
  createUser: route({
    id: 'createUser',
    methods: ['POST'],
    path: '/api/v2/admin/users',
    summary: 'Create a user. There is no sign-up: the administrator hands out the first token.',
    section,
    body: UserCreateRequest,
    answers: {
      201: answer('Created.', AdminUserDocument),
      ...bodyRefusals({
        404: hidden,
        422: 'The username or email breaks its rules or is taken.',
      }),
    },
    needs: administrator,
  }),
  deleteUser: route({
    id: 'deleteUser',
    methods: ['DELETE'],
    path: '/api/v2/admin/users/:user_id',
    summary: 'Delete a user with its tokens and memberships.',
    section,
    params: UserPath,
    answers: {
      204: emptyAnswer('Deleted.'),
      ...refusals({
        404: 'User not found, or the caller is not the site administrator.',
        422: 'The user is the last owner of an organization.',
      }),
    },
    needs: administrator,
  }),
} as const
