import type { TSchema } from 'typebox'
import * as t from './json-api.ts'
import { create, list, read, remove, routes } from './define.ts'

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
    attributes: t.Object({
      'created-at': t.Timestamp(),
      'last-used-at': t.Nullable(t.Timestamp('Exact to the minute.')),
      description: t.Nullable(t.String()),
      token,
      'expired-at': t.Nullable(t.Timestamp('Null: never.')),
    }),
    relationships: t.Object({ 'created-by': t.ToOne('users'), team: t.Optional(t.ToOne('teams')) }),
  }
}

/** A token after its creation: the secret is never shown again. */
export const AuthenticationToken = t.ResourceOf(
  'AuthenticationToken',
  'authentication-tokens',
  tokenMembers(t.Null()),
)
export type AuthenticationToken = t.Infer<typeof AuthenticationToken>

/** The answer to create, the only one with the secret. */
export const CreatedAuthenticationToken = t.ResourceOf(
  'CreatedAuthenticationToken',
  'authentication-tokens',
  tokenMembers(t.String({ minLength: 1 })),
)
export type CreatedAuthenticationToken = t.Infer<typeof CreatedAuthenticationToken>

export const AuthenticationTokenDocument = t.DocumentOf(AuthenticationToken)

export const CreatedAuthenticationTokenDocument = t.DocumentOf(CreatedAuthenticationToken)
export type CreatedAuthenticationTokenDocument = t.Infer<typeof CreatedAuthenticationTokenDocument>

/** Tokens of a user: paged only when a page is asked for. */
export const UserTokenPage = t.PageOnRequestOf(AuthenticationToken, 'UserTokenPage')

/**
 * Clients spell the type in the singular, send it empty or leave it out; older ones send no body
 * at all.
 */
export const AuthenticationTokenRequest = t.Named('AuthenticationTokenRequest', {
  data: t.Object({
    type: t.Optional(t.OneOf(['authentication-tokens', 'authentication-token', ''])),
    attributes: t.Optional(
      t.Object({
        description: t.Optional(t.Nullable(t.String({ maxLength: t.LINE_LENGTH_MAX }))),
        'expired-at': t.Optional(
          t.Nullable(
            t.Timestamp(
              'Null or absent: in two years for teams and organizations, never for users.',
            ),
          ),
        ),
      }),
    ),
  }),
})
export type AuthenticationTokenRequest = t.Infer<typeof AuthenticationTokenRequest>

const createdToken = t.jsonResponse(
  'Created; the secret is shown this once.',
  CreatedAuthenticationTokenDocument,
)
const shownToken = t.jsonResponse('The token without its secret.', AuthenticationTokenDocument)
const badExpiry = 'The expiry lies in the past.'

const ofOrganization = {
  query: { token: t.Optional(t.OneOf(ORGANIZATION_TOKEN_KINDS, 'The main token when omitted.')) },
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
    body: t.OptionalBody(AuthenticationTokenRequest),
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
    body: t.OptionalBody(AuthenticationTokenRequest),
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
      q: t.Optional(t.String({ description: 'Part of the team name, case ignored.' })),
      sort: t.Optional(t.OneOf(TEAM_TOKEN_SORTS)),
    },
    returns: AuthenticationToken,
    needs: needs,
  }),
})

const userTokenRoutes = routes('Tokens', {
  listUserTokens: list('/users/:user_id/authentication-tokens', {
    summary: 'List the tokens of a user; empty for anyone but the user itself.',
    query: { ...t.fieldsQuery('authentication-tokens') },
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
    query: t.fieldsQuery('authentication-tokens'),
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
