import * as t from './shared-schemas.ts'
import { operate, list, remove, blockingRead, write, routes } from './define.ts'

export const TOKEN_TYPES = ['client', 'management'] as const
export type TokenType = (typeof TOKEN_TYPES)[number]

export const AclTokenRoleLink = t.Named('AclTokenRoleLink', { ID: t.String(), Name: t.String() })
export type AclTokenRoleLink = t.Infer<typeof AclTokenRoleLink>

const stubFields = {
  AccessorID: t.String({ description: 'Names the token in public.' }),
  Name: t.String(),
  Type: t.Enum(TOKEN_TYPES),
  Policies: t.Nullable(t.Array(t.String())),
  Roles: t.Nullable(t.Array(AclTokenRoleLink)),
  Global: t.Boolean({ description: 'Copied to every region.' }),
  Hash: t.Base64(),
  CreateTime: t.Timestamp(),
  ExpirationTime: t.Nullable(t.Timestamp()),
  CreateIndex: t.Index(),
  ModifyIndex: t.Index(),
}

/** Without its secret. */
export const AclTokenStub = t.Named('AclTokenStub', 'A token in a list.', stubFields)
export type AclTokenStub = t.Infer<typeof AclTokenStub>

export const AclToken = t.Named('AclToken', 'A credential of a caller, with its permissions.', {
  ...stubFields,
  SecretID: t.String({ description: 'Proves that the caller holds the token.' }),
  ExpirationTTL: t.String({ description: 'Empty, or a duration such as `2h0m0s`.' }),
})
export type AclToken = t.Infer<typeof AclToken>

export const AclTokenRequest = t.Named('AclTokenRequest', {
  AccessorID: t.String({ description: 'On update the one in the path.' }),
  SecretID: t.String({ description: 'Only to bring a token in from elsewhere.' }),
  Name: t.String(),
  Type: t.String({ description: '`client` or `management`.' }),
  Policies: t.Array(t.String()),
  Roles: t.Array(AclTokenRoleLink, { description: 'By id or by name.' }),
  Global: t.Boolean(),
  ExpirationTime: t.Timestamp(),
  ExpirationTTL: t.Union([t.String(), t.Integer({ format: 'int64' })], {
    description: 'A duration such as `8h`, or nanoseconds.',
  }),
})
export type AclTokenRequest = t.Input<t.Infer<typeof AclTokenRequest>>

export const AclBootstrapRequest = t.Named('AclBootstrapRequest', {
  BootstrapSecret: t.String({ description: 'A UUID; one is made when it is empty.' }),
})
export type AclBootstrapRequest = t.Input<t.Infer<typeof AclBootstrapRequest>>

export const OneTimeToken = t.Object(
  {
    OneTimeSecretID: t.String(),
    AccessorID: t.String(),
    ExpiresAt: t.Timestamp(),
    CreateIndex: t.Index(),
    ModifyIndex: t.Index(),
  },
  { $id: 'OneTimeToken', description: 'May be exchanged once for the token that made it.' },
)
export type OneTimeToken = t.Infer<typeof OneTimeToken>

export const OneTimeTokenResponse = t.Named('OneTimeTokenResponse', {
  OneTimeToken: OneTimeToken,
  Index: t.Index(),
})
export type OneTimeTokenResponse = t.Infer<typeof OneTimeTokenResponse>

export const OneTimeTokenExchangeRequest = t.Named('OneTimeTokenExchangeRequest', {
  OneTimeSecretID: t.String(),
})
export type OneTimeTokenExchangeRequest = t.Input<t.Infer<typeof OneTimeTokenExchangeRequest>>

export const OneTimeTokenExchangeResponse = t.Named('OneTimeTokenExchangeResponse', {
  Token: AclToken,
  Index: t.Index(),
})
export type OneTimeTokenExchangeResponse = t.Infer<typeof OneTimeTokenExchangeResponse>

const invalidToken = t.textError(
  'The token is invalid, names an unknown role, or may not change so.',
)

/** Routes that anyone may call take a small body: it is received before the caller is known. */
const OPEN_BODY_BYTES_MAX = 16 * 1024

export const aclTokenRoutes = routes('ACL tokens', {
  bootstrapAcl: write('/acl/bootstrap', {
    summary: 'Make the first management token. Works once.',
    bodyBytesMax: OPEN_BODY_BYTES_MAX,
    region: 'authoritative',
    body: AclBootstrapRequest,
    returns: t.jsonResponse(AclToken, 'The token, with its secret.'),
    errors: { 400: 'ACLs are disabled, already bootstrapped, or the secret is not a UUID.' },
    needs: 'none',
  }),
  listAclTokens: list('/acl/tokens', {
    summary: 'List tokens, without their secrets.',
    query: { global: t.FlagParameter('Only tokens that are copied to every region.') },
    returns: t.jsonResponse(
      t.Array(AclTokenStub),
      'The tokens, oldest first, or by accessor with `prefix` or `global`.',
    ),
    errors: { 400: 'The prefix is not an even number of hex characters, or the filter is wrong.' },
    needs: 'management',
  }),
  createAclToken: write('/acl/token', {
    summary: 'Create a token.',
    region: 'body',
    body: AclTokenRequest,
    returns: t.jsonResponse(AclToken, 'The token, with its secret.'),
    answers: { 400: invalidToken },
    needs: 'management',
  }),
  updateAclToken: write('/acl/token/:accessor_id', {
    summary: 'Change a token.',
    region: 'body',
    body: AclTokenRequest,
    returns: t.jsonResponse(AclToken, 'The token.'),
    answers: { 400: invalidToken },
    acceptsUnknown: true,
    needs: 'management',
  }),
  readAclToken: blockingRead('/acl/token/:accessor_id', {
    summary: 'Read one token.',
    returns: t.jsonResponse(AclToken, 'The token.'),
    errors: { 400: 'The accessor is not a UUID.' },
    needs: 'management, or a SecretID matching the AccessorID',
  }),
  readOwnAclToken: blockingRead('/acl/token/self', {
    summary: 'Read the token of the caller.',
    returns: t.jsonResponse(AclToken, 'The token.'),
    needs: 'any valid ACL token',
  }),
  deleteAclToken: remove('/acl/token/:accessor_id', {
    summary: 'Delete a token.',
    region: 'body',
    returns: t.emptyResponse('The token is deleted.'),
    errors: { 400: '`Cannot delete nonexistent tokens: <id>`' },
    acceptsUnknown: true,
    needs: 'management',
  }),
  createOneTimeToken: write('/acl/token/onetime', {
    summary: 'Make a one-time token for the token of the caller.',
    returns: t.jsonResponse(OneTimeTokenResponse, 'The one-time token; an earlier one is void.'),
    errors: { 403: '`Permission denied`: the header `X-Service-Token` is not set or unknown.' },
    needs: 'any',
  }),
  exchangeOneTimeToken: operate('/acl/token/onetime/exchange', {
    summary: 'Exchange a one-time token for the token that made it.',
    bodyBytesMax: OPEN_BODY_BYTES_MAX,
    body: OneTimeTokenExchangeRequest,
    returns: t.jsonResponse(
      OneTimeTokenExchangeResponse,
      'The token; the one-time token is used up.',
    ),
    errors: {
      400: 'The body names no one-time token.',
      403: '`Permission denied`: it is unknown, expired or used.',
    },
    needs: 'any',
  }),
})
