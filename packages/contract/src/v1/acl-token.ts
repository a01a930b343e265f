import { Type } from 'typebox'
import { routes } from '../route.ts'
import { list, remove, blockingRead, write } from './define.ts'
import { Named, Index, Nullable, Timestamp, type Input, type Infer } from '../schema.ts'
import { Base64, emptyResponse, jsonResponse, textError } from './shared-schemas.ts'
import { FlagParameter } from './query.ts'

export const TOKEN_TYPES = ['client', 'management'] as const
export type TokenType = (typeof TOKEN_TYPES)[number]

export const AclTokenRoleLink = Named('AclTokenRoleLink', {
  ID: Type.String(),
  Name: Type.String(),
})
export type AclTokenRoleLink = Infer<typeof AclTokenRoleLink>

const stubFields = {
  AccessorID: Type.String({ description: 'Names the token in public.' }),
  Name: Type.String(),
  Type: Type.Enum(TOKEN_TYPES),
  Policies: Nullable(Type.Array(Type.String())),
  Roles: Nullable(Type.Array(AclTokenRoleLink)),
  Global: Type.Boolean({ description: 'Copied to every region.' }),
  Hash: Base64(),
  CreateTime: Timestamp(),
  ExpirationTime: Nullable(Timestamp()),
  CreateIndex: Index(),
  ModifyIndex: Index(),
}

/** Without its secret. */
export const AclTokenStub = Named('AclTokenStub', 'A token in a list.', stubFields)
export type AclTokenStub = Infer<typeof AclTokenStub>

export const AclToken = Named('AclToken', 'A credential of a caller, with its permissions.', {
  ...stubFields,
  SecretID: Type.String({ description: 'Proves that the caller holds the token.' }),
  ExpirationTTL: Type.String({ description: 'Empty, or a duration such as `2h0m0s`.' }),
})
export type AclToken = Infer<typeof AclToken>

export const AclTokenRequest = Named('AclTokenRequest', {
  AccessorID: Type.String({ description: 'On update the one in the path.' }),
  SecretID: Type.String({ description: 'Only to bring a token in from elsewhere.' }),
  Name: Type.String(),
  Type: Type.String({ description: '`client` or `management`.' }),
  Policies: Type.Array(Type.String()),
  Roles: Type.Array(AclTokenRoleLink, { description: 'By id or by name.' }),
  Global: Type.Boolean(),
  ExpirationTime: Timestamp(),
  ExpirationTTL: Type.Union([Type.String(), Type.Integer({ format: 'int64' })], {
    description: 'A duration such as `8h`, or nanoseconds.',
  }),
})
export type AclTokenRequest = Input<Infer<typeof AclTokenRequest>>

export const AclBootstrapRequest = Named('AclBootstrapRequest', {
  BootstrapSecret: Type.String({ description: 'A UUID; one is made when it is empty.' }),
})
export type AclBootstrapRequest = Input<Infer<typeof AclBootstrapRequest>>

export const OneTimeToken = Type.Object(
  {
    OneTimeSecretID: Type.String(),
    AccessorID: Type.String(),
    ExpiresAt: Timestamp(),
    CreateIndex: Index(),
    ModifyIndex: Index(),
  },
  { $id: 'OneTimeToken', description: 'May be exchanged once for the token that made it.' },
)
export type OneTimeToken = Infer<typeof OneTimeToken>

export const OneTimeTokenResponse = Named('OneTimeTokenResponse', {
  OneTimeToken: OneTimeToken,
  Index: Index(),
})
export type OneTimeTokenResponse = Infer<typeof OneTimeTokenResponse>

export const OneTimeTokenExchangeRequest = Named('OneTimeTokenExchangeRequest', {
  OneTimeSecretID: Type.String(),
})
export type OneTimeTokenExchangeRequest = Input<Infer<typeof OneTimeTokenExchangeRequest>>

export const OneTimeTokenExchangeResponse = Named('OneTimeTokenExchangeResponse', {
  Token: AclToken,
  Index: Index(),
})
export type OneTimeTokenExchangeResponse = Infer<typeof OneTimeTokenExchangeResponse>

const invalidToken = textError('The token is invalid, names an unknown role, or may not change so.')

/** Routes that anyone may call take a small body: it is received before the caller is known. */
const OPEN_BODY_BYTES_MAX = 16 * 1024

export const aclTokenRoutes = routes('ACL tokens', {
  bootstrapAcl: write('/acl/bootstrap', {
    summary: 'Make the first management token. Works once.',
    bodyBytesMax: OPEN_BODY_BYTES_MAX,
    region: 'authoritative',
    body: AclBootstrapRequest,
    returns: jsonResponse(AclToken, 'The token, with its secret.'),
    errors: { 400: 'ACLs are disabled, already bootstrapped, or the secret is not a UUID.' },
    needs: 'none',
  }),
  listAclTokens: list('/acl/tokens', {
    summary: 'List tokens, without their secrets.',
    query: { global: FlagParameter('Only tokens that are copied to every region.') },
    returns: jsonResponse(
      Type.Array(AclTokenStub),
      'The tokens, oldest first, or by accessor with `prefix` or `global`.',
    ),
    errors: { 400: 'The prefix is not an even number of hex characters, or the filter is wrong.' },
    needs: 'management',
  }),
  createAclToken: write('/acl/token', {
    summary: 'Create a token.',
    region: 'body',
    body: AclTokenRequest,
    returns: jsonResponse(AclToken, 'The token, with its secret.'),
    answers: { 400: invalidToken },
    needs: 'management',
  }),
  updateAclToken: write('/acl/token/:accessor_id', {
    summary: 'Change a token.',
    region: 'body',
    body: AclTokenRequest,
    returns: jsonResponse(AclToken, 'The token.'),
    answers: { 400: invalidToken },
    needs: 'management',
  }),
  readAclToken: blockingRead('/acl/token/:accessor_id', {
    summary: 'Read one token.',
    returns: jsonResponse(AclToken, 'The token.'),
    errors: { 400: 'The accessor is not a UUID.', 404: '`ACL token not found`' },
    needs: 'management, or a SecretID matching the AccessorID',
  }),
  readOwnAclToken: blockingRead('/acl/token/self', {
    summary: 'Read the token of the caller.',
    returns: jsonResponse(AclToken, 'The token.'),
    needs: 'any valid ACL token',
  }),
  deleteAclToken: remove('/acl/token/:accessor_id', {
    summary: 'Delete a token.',
    region: 'body',
    returns: emptyResponse('The token is deleted.'),
    errors: { 400: '`Cannot delete nonexistent tokens: <id>`' },
    needs: 'management',
  }),
  createOneTimeToken: write('/acl/token/onetime', {
    summary: 'Make a one-time token for the token of the caller.',
    returns: jsonResponse(OneTimeTokenResponse, 'The one-time token; an earlier one is void.'),
    errors: { 403: '`Permission denied`: the header `X-Service-Token` is not set or unknown.' },
    needs: 'any',
  }),
  exchangeOneTimeToken: write('/acl/token/onetime/exchange', {
    summary: 'Exchange a one-time token for the token that made it.',
    growsState: false,
    bodyBytesMax: OPEN_BODY_BYTES_MAX,
    body: OneTimeTokenExchangeRequest,
    returns: jsonResponse(
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
