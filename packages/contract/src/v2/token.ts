import { Type, type TSchema } from 'typebox'
import { route } from '../route.ts'
import { Nullable, Timestamp, type Shape } from '../shape.ts'
import { answer, bodyRefusals, emptyAnswer, refusals } from './answers.ts'
import {
  DocumentOf,
  OneOf,
  OptionalBody,
  PageOf,
  PageOnRequestOf,
  ResourceOf,
  ToOne,
} from './json-api.ts'
import { LINE_LENGTH_MAX } from './limits.ts'
import { OrganizationPath, TeamPath, TokenPath, UserPath } from './paths.ts'
import { PrefixedId } from './patterns.ts'
import { fieldsQuery, pageQuery } from './query.ts'

/**
 * Reference §4.3: besides its main token an organization has one that only reads the audit trail.
 */
export const ORGANIZATION_TOKEN_KINDS = ['audit-trails'] as const
export const TEAM_TOKEN_SORTS = [
  'created-by',
  '-created-by',
  'expired-at',
  '-expired-at',
  'last-used-at',
  '-last-used-at',
] as const

function tokenMembers<S extends TSchema>(token: S) {
  return {
    attributes: Type.Object({
      'created-at': Timestamp(),
      'last-used-at': Nullable(Timestamp('Exact to the minute.')),
      description: Nullable(Type.String()),
      token,
      'expired-at': Nullable(Timestamp('Null: never.')),
    }),
    relationships: Type.Object({
      'created-by': ToOne('users'),
      team: Type.Optional(ToOne('teams')),
    }),
  }
}

/** A token after its creation: the secret is never shown again. */
export const AuthenticationToken = ResourceOf({
  $id: 'AuthenticationToken',
  type: 'authentication-tokens',
  id: PrefixedId('authentication-tokens'),
  members: tokenMembers(Type.Null()),
})
export type AuthenticationToken = Shape<typeof AuthenticationToken>

/** The answer to create, the only one with the secret. */
export const CreatedAuthenticationToken = ResourceOf({
  $id: 'CreatedAuthenticationToken',
  type: 'authentication-tokens',
  id: PrefixedId('authentication-tokens'),
  members: tokenMembers(Type.String({ minLength: 1 })),
})
export type CreatedAuthenticationToken = Shape<typeof CreatedAuthenticationToken>

export const AuthenticationTokenDocument = DocumentOf(
  'AuthenticationTokenDocument',
  AuthenticationToken,
)
export type AuthenticationTokenDocument = Shape<typeof AuthenticationTokenDocument>

export const CreatedAuthenticationTokenDocument = DocumentOf(
  'CreatedAuthenticationTokenDocument',
  CreatedAuthenticationToken,
)
export type CreatedAuthenticationTokenDocument = Shape<typeof CreatedAuthenticationTokenDocument>

export const AuthenticationTokenPage = PageOf('AuthenticationTokenPage', AuthenticationToken)
export type AuthenticationTokenPage = Shape<typeof AuthenticationTokenPage>

/** Tokens of a user: paged only when a page is asked for (reference §1.4). */
export const UserTokenPage = PageOnRequestOf('UserTokenPage', AuthenticationToken)
export type UserTokenPage = Shape<typeof UserTokenPage>

/**
 * Clients spell the type in the singular too, and older ones send no body at all (reference §4.3).
 */
export const AuthenticationTokenRequest = Type.Object(
  {
    data: Type.Object({
      type: OneOf(['authentication-tokens', 'authentication-token']),
      attributes: Type.Optional(
        Type.Object({
          description: Type.Optional(Nullable(Type.String({ maxLength: LINE_LENGTH_MAX }))),
          'expired-at': Type.Optional(
            Nullable(
              Timestamp(
                'Null or absent: in two years for teams and organizations, never for users.',
              ),
            ),
          ),
        }),
      ),
    }),
  },
  { $id: 'AuthenticationTokenRequest' },
)
export type AuthenticationTokenRequest = Shape<typeof AuthenticationTokenRequest>

const section = 'Tokens'
const createdToken = answer(
  'Created; the secret is shown this once.',
  CreatedAuthenticationTokenDocument,
)
const shownToken = answer('The token without its secret.', AuthenticationTokenDocument)
const badExpiry = 'The expiry lies in the past.'

const ofOrganization = {
  section,
  params: OrganizationPath,
  query: Type.Object({
    token: Type.Optional(OneOf(ORGANIZATION_TOKEN_KINDS, 'The main token when omitted.')),
  }),
  needs: 'Owners team, owners team token, or the organization token.',
} as const
const noOrganizationToken = 'Organization or token not found, or the caller may not manage it.'

const organizationTokenRoutes = {
  readOrganizationToken: route({
    id: 'readOrganizationToken',
    methods: ['GET'],
    path: '/api/v2/organizations/:organization_name/authentication-token',
    summary: 'Show the token of an organization.',
    ...ofOrganization,
    answers: { 200: shownToken, ...refusals({ 404: noOrganizationToken }) },
  }),
  createOrganizationToken: route({
    id: 'createOrganizationToken',
    methods: ['POST'],
    path: '/api/v2/organizations/:organization_name/authentication-token',
    summary: 'Create the token of an organization; an existing one is revoked.',
    ...ofOrganization,
    body: OptionalBody(AuthenticationTokenRequest),
    answers: {
      201: createdToken,
      ...bodyRefusals({ 404: noOrganizationToken, 422: badExpiry }),
    },
  }),
  deleteOrganizationToken: route({
    id: 'deleteOrganizationToken',
    methods: ['DELETE'],
    path: '/api/v2/organizations/:organization_name/authentication-token',
    summary: 'Revoke the token of an organization.',
    ...ofOrganization,
    answers: { 204: emptyAnswer('Revoked.'), ...refusals({ 404: noOrganizationToken }) },
  }),
} as const

const ofTeam = {
  section,
  params: TeamPath,
  needs: 'Owners team, teams with Manage teams, or members where the team allows it.',
} as const
const noTeamToken = 'Team or token not found, or the caller may not manage it.'

const teamTokenRoutes = {
  createTeamToken: route({
    id: 'createTeamToken',
    methods: ['POST'],
    path: '/api/v2/teams/:team_id/authentication-tokens',
    summary: 'Create one of many tokens of a team, told apart by description.',
    ...ofTeam,
    body: AuthenticationTokenRequest,
    answers: {
      201: createdToken,
      ...bodyRefusals({
        404: noTeamToken,
        422: 'The description is taken in this team, or the expiry lies in the past.',
      }),
    },
  }),
  readSingleTeamToken: route({
    id: 'readSingleTeamToken',
    methods: ['GET'],
    path: '/api/v2/teams/:team_id/authentication-token',
    summary: 'Show the one token of a team that has no description.',
    ...ofTeam,
    answers: { 200: shownToken, ...refusals({ 404: noTeamToken }) },
  }),
  createSingleTeamToken: route({
    id: 'createSingleTeamToken',
    methods: ['POST'],
    path: '/api/v2/teams/:team_id/authentication-token',
    summary: 'Create the token of a team that has no description; an existing one is revoked.',
    ...ofTeam,
    body: OptionalBody(AuthenticationTokenRequest),
    answers: { 201: createdToken, ...bodyRefusals({ 404: noTeamToken, 422: badExpiry }) },
  }),
  deleteSingleTeamToken: route({
    id: 'deleteSingleTeamToken',
    methods: ['DELETE'],
    path: '/api/v2/teams/:team_id/authentication-token',
    summary: 'Revoke the token of a team that has no description.',
    ...ofTeam,
    answers: { 204: emptyAnswer('Revoked.'), ...refusals({ 404: noTeamToken }) },
  }),
  listTeamTokens: route({
    id: 'listTeamTokens',
    methods: ['GET'],
    path: '/api/v2/organizations/:organization_name/team-tokens',
    summary: 'List the tokens of all teams of an organization that the caller may manage.',
    section,
    params: OrganizationPath,
    query: Type.Object({
      ...pageQuery,
      q: Type.Optional(Type.String({ description: 'Part of the team name, case ignored.' })),
      sort: Type.Optional(OneOf(TEAM_TOKEN_SORTS)),
      ...fieldsQuery('authentication-tokens'),
    }),
    answers: {
      200: answer('One page of tokens without their secrets.', AuthenticationTokenPage),
      ...refusals({ 404: 'Organization not found, or not visible to the caller.' }),
    },
    needs: ofTeam.needs,
  }),
} as const

const userTokenRoutes = {
  listUserTokens: route({
    id: 'listUserTokens',
    methods: ['GET'],
    path: '/api/v2/users/:user_id/authentication-tokens',
    summary: 'List the tokens of a user; empty for anyone but the user itself.',
    section,
    params: UserPath,
    query: Type.Object({ ...pageQuery, ...fieldsQuery('authentication-tokens') }),
    answers: {
      200: answer('Tokens without their secrets.', UserTokenPage),
      ...refusals({ 404: 'User not found.' }),
    },
    needs: 'The user itself, or the site administrator.',
  }),
  createUserToken: route({
    id: 'createUserToken',
    methods: ['POST'],
    path: '/api/v2/users/:user_id/authentication-tokens',
    summary: 'Create a token of a user.',
    section,
    params: UserPath,
    body: AuthenticationTokenRequest,
    answers: {
      201: createdToken,
      ...bodyRefusals({
        404: 'User not found, or the caller may not create tokens for it.',
        422: badExpiry,
      }),
    },
    needs: 'The user itself, or the site administrator.',
  }),
  readAuthenticationToken: route({
    id: 'readAuthenticationToken',
    methods: ['GET'],
    path: '/api/v2/authentication-tokens/:token_id',
    summary: 'Show a token of any kind, without its secret.',
    section,
    params: TokenPath,
    query: Type.Object(fieldsQuery('authentication-tokens')),
    answers: {
      200: shownToken,
      ...refusals({ 404: 'Token not found, or the caller may not manage it.' }),
    },
    needs: 'Whoever may manage the token.',
  }),
  deleteAuthenticationToken: route({
    id: 'deleteAuthenticationToken',
    methods: ['DELETE'],
    path: '/api/v2/authentication-tokens/:token_id',
    summary: 'Revoke a token of any kind.',
    section,
    params: TokenPath,
    answers: {
      204: emptyAnswer('Revoked.'),
      ...refusals({ 404: 'Token not found, or the caller may not manage it.' }),
    },
    needs: 'Whoever may manage the token.',
  }),
} as const

export const tokenRoutes = {
  ...organizationTokenRoutes,
  ...teamTokenRoutes,
  ...userTokenRoutes,
} as const
