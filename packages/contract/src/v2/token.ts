import { Type, type TSchema } from 'typebox'
import { routes } from '../route.ts'
import { create, list, read, remove } from './define.ts'
import { Named, Nullable, Timestamp, type Infer } from '../schema.ts'
import { jsonResponse } from './answers.ts'
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
import { fieldsQuery } from './query.ts'

/** Besides its main token an organization has one that only reads the audit trail. */
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
export const AuthenticationToken = ResourceOf(
  'AuthenticationToken',
  'authentication-tokens',
  tokenMembers(Type.Null()),
)
export type AuthenticationToken = Infer<typeof AuthenticationToken>

/** The answer to create, the only one with the secret. */
export const CreatedAuthenticationToken = ResourceOf(
  'CreatedAuthenticationToken',
  'authentication-tokens',
  tokenMembers(Type.String({ minLength: 1 })),
)
export type CreatedAuthenticationToken = Infer<typeof CreatedAuthenticationToken>

export const AuthenticationTokenDocument = DocumentOf(AuthenticationToken)

export const CreatedAuthenticationTokenDocument = DocumentOf(CreatedAuthenticationToken)
export type CreatedAuthenticationTokenDocument = Infer<typeof CreatedAuthenticationTokenDocument>

export const AuthenticationTokenPage = PageOf(AuthenticationToken)

/** Tokens of a user: paged only when a page is asked for. */
export const UserTokenPage = PageOnRequestOf(AuthenticationToken, 'UserTokenPage')

/**
 * Clients spell the type in the singular, send it empty or leave it out; older ones send no body
 * at all.
 */
export const AuthenticationTokenRequest = Named('AuthenticationTokenRequest', {
  data: Type.Object({
    type: Type.Optional(OneOf(['authentication-tokens', 'authentication-token', ''])),
    attributes: Type.Optional(
      Type.Object({
        description: Type.Optional(Nullable(Type.String({ maxLength: LINE_LENGTH_MAX }))),
        'expired-at': Type.Optional(
          Nullable(
            Timestamp('Null or absent: in two years for teams and organizations, never for users.'),
          ),
        ),
      }),
    ),
  }),
})
export type AuthenticationTokenRequest = Infer<typeof AuthenticationTokenRequest>

const createdToken = jsonResponse(
  'Created; the secret is shown this once.',
  CreatedAuthenticationTokenDocument,
)
const shownToken = jsonResponse('The token without its secret.', AuthenticationTokenDocument)
const badExpiry = 'The expiry lies in the past.'

const ofOrganization = {
  query: { token: Type.Optional(OneOf(ORGANIZATION_TOKEN_KINDS, 'The main token when omitted.')) },
  needs: 'Owners team, owners team token, or the organization token.',
} as const
const noOrganizationToken = 'Organization or token not found, or the caller may not manage it.'

const organizationTokenRoutes = routes('Tokens', {
  readOrganizationToken: read('/organizations/:organization_name/authentication-token', {
    summary: 'Show the token of an organization.',
    ...ofOrganization,
    answers: { 200: shownToken },
    errors: { 404: noOrganizationToken },
  }),
  createOrganizationToken: create('/organizations/:organization_name/authentication-token', {
    summary: 'Create the token of an organization; an existing one is revoked.',
    ...ofOrganization,
    body: OptionalBody(AuthenticationTokenRequest),
    answers: { 201: createdToken },
    errors: { 404: noOrganizationToken, 422: badExpiry },
  }),
  deleteOrganizationToken: remove('/organizations/:organization_name/authentication-token', {
    summary: 'Revoke the token of an organization.',
    ...ofOrganization,
    errors: { 404: noOrganizationToken },
  }),
})

const needs = 'Owners team, teams with Manage teams, or members where the team allows it.'
const noTeamToken = 'Team or token not found, or the caller may not manage it.'

const teamTokenRoutes = routes('Tokens', {
  createTeamToken: create('/teams/:team_id/authentication-tokens', {
    summary: 'Create one of many tokens of a team, distinguished by description.',
    needs,
    body: AuthenticationTokenRequest,
    answers: { 201: createdToken },
    errors: {
      404: noTeamToken,
      422: 'The description is taken in this team, or the expiry lies in the past.',
    },
  }),
  readSingleTeamToken: read('/teams/:team_id/authentication-token', {
    summary: 'Show the one token of a team that has no description.',
    needs,
    answers: { 200: shownToken },
    errors: { 404: noTeamToken },
  }),
  createSingleTeamToken: create('/teams/:team_id/authentication-token', {
    summary: 'Create the token of a team that has no description; an existing one is revoked.',
    needs,
    body: OptionalBody(AuthenticationTokenRequest),
    answers: { 201: createdToken },
    errors: { 404: noTeamToken, 422: badExpiry },
  }),
  deleteSingleTeamToken: remove('/teams/:team_id/authentication-token', {
    summary: 'Revoke the token of a team that has no description.',
    needs,
    errors: { 404: noTeamToken },
  }),
  listTeamTokens: list('/organizations/:organization_name/team-tokens', {
    summary: 'List the tokens of all teams of an organization that the caller may manage.',
    query: {
      q: Type.Optional(Type.String({ description: 'Part of the team name, case ignored.' })),
      sort: Type.Optional(OneOf(TEAM_TOKEN_SORTS)),
      ...fieldsQuery('authentication-tokens'),
    },
    returns: AuthenticationTokenPage,
    needs: needs,
  }),
})

const userTokenRoutes = routes('Tokens', {
  listUserTokens: list('/users/:user_id/authentication-tokens', {
    summary: 'List the tokens of a user; empty for anyone but the user itself.',
    query: { ...fieldsQuery('authentication-tokens') },
    returns: UserTokenPage,
    result: 'Tokens without their secrets.',
    errors: { 404: 'User not found.' },
    needs: 'The user itself, or the site administrator.',
  }),
  createUserToken: create('/users/:user_id/authentication-tokens', {
    summary: 'Create a token of a user.',
    body: AuthenticationTokenRequest,
    answers: { 201: createdToken },
    errors: { 422: badExpiry },
    needs: 'The user itself, or the site administrator.',
  }),
  readAuthenticationToken: read('/authentication-tokens/:token_id', {
    summary: 'Show a token of any kind, without its secret.',
    query: fieldsQuery('authentication-tokens'),
    answers: { 200: shownToken },
    needs: 'Permission to manage the token.',
  }),
  deleteAuthenticationToken: remove('/authentication-tokens/:token_id', {
    summary: 'Revoke a token of any kind.',
    needs: 'Permission to manage the token.',
  }),
})

export const tokenRoutes = {
  ...organizationTokenRoutes,
  ...teamTokenRoutes,
  ...userTokenRoutes,
}
