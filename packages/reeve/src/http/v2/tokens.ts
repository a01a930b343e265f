import { v2 } from '@reeve/contract'
import {
  createToken,
  findUnnamedToken,
  findToken,
  findVisibleUser,
  listTeamTokens,
  organizationTokenOwner,
  revokeToken,
  teamTokenOwner,
  tokensOf,
  userTokenOwner,
  type GovernanceCaller,
  type GovernanceContext,
  type TokenOwner,
  type CreatedToken,
} from '../../governance/index.ts'
import type { Result } from '@reeve/kit/result.ts'
import type { ApiTokenRow, GovernanceRefusal } from '../../model/index.ts'
import {
  mapResult,
  createdDocument,
  NO_CONTENT,
  resourceDocument,
  pageDocument,
  pageIfRequested,
  offsetAndLimit,
} from './documents.ts'
import { endpoint, type JsonApiResult, type V2Endpoint } from './endpoint.ts'
import { formatOptionalTime, formatTime, toOne } from './resources/links.ts'

const { v2Routes } = v2

export function tokenEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  return [
    ...organizationTokenEndpoints(context),
    ...teamTokenEndpoints(context),
    ...userTokenEndpoints(context),
    endpoint(v2Routes.readAuthenticationToken, ({ caller, params }) =>
      mapResult(findToken(context, caller, params.token_id), (token) =>
        resourceDocument(tokenResource(token)),
      ),
    ),
    endpoint(v2Routes.deleteAuthenticationToken, async ({ caller, params }) => {
      const found = findToken(context, caller, params.token_id)
      if (!found.ok) return found
      return mapResult(await revokeToken(context, caller, found.value), () => NO_CONTENT)
    }),
  ]
}

interface TokenAccess {
  readonly caller: GovernanceCaller
  readonly owner: Result<TokenOwner, GovernanceRefusal>
}

type TokenBody = v2.AuthenticationTokenRequest | null

function readSingleToken(context: GovernanceContext, { owner }: TokenAccess): JsonApiResult {
  if (!owner.ok) return owner
  return mapResult(findUnnamedToken(context, owner.value), (token) =>
    resourceDocument(tokenResource(token)),
  )
}

async function createTokenResponse(
  context: GovernanceContext,
  { caller, owner }: TokenAccess,
  { body, isSingle }: { readonly body: TokenBody; readonly isSingle: boolean },
): Promise<JsonApiResult> {
  if (!owner.ok) return owner
  const attributes = body?.data.attributes
  const result = await createToken(context, caller, {
    owner: owner.value,
    attributes,
    isUnnamed: isSingle,
  })
  return mapResult(result, (token) => createdDocument(createdTokenResource(token)))
}

async function deleteSingleToken(
  context: GovernanceContext,
  { caller, owner }: TokenAccess,
): Promise<JsonApiResult> {
  if (!owner.ok) return owner
  const found = findUnnamedToken(context, owner.value)
  if (!found.ok) return found
  return mapResult(await revokeToken(context, caller, found.value), () => NO_CONTENT)
}

interface OrganizationTokenRequest {
  readonly caller: GovernanceCaller
  readonly params: { readonly organization_name: string }
  readonly query: { readonly token?: 'audit-trails' | undefined }
}

function organizationTokenEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  const tokenAccess = ({ caller, params, query }: OrganizationTokenRequest): TokenAccess => ({
    caller,
    owner: organizationTokenOwner(context, caller, {
      name: params.organization_name,
      kind: query.token ?? 'organization',
    }),
  })
  return [
    endpoint(v2Routes.readOrganizationToken, (request) =>
      readSingleToken(context, tokenAccess(request)),
    ),
    endpoint(
      v2Routes.createOrganizationToken,
      (request) =>
        createTokenResponse(context, tokenAccess(request), { body: request.body, isSingle: true }),
      { authorize: (request) => tokenAccess(request).owner },
    ),
    endpoint(v2Routes.deleteOrganizationToken, (request) =>
      deleteSingleToken(context, tokenAccess(request)),
    ),
  ]
}

interface TeamTokenRequest {
  readonly caller: GovernanceCaller
  readonly params: { readonly team_id: string }
}

function teamTokenEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  const tokenAccess = ({ caller, params }: TeamTokenRequest): TokenAccess => ({
    caller,
    owner: teamTokenOwner(context, caller, params.team_id),
  })
  const guard = (request: TeamTokenRequest): TokenAccess['owner'] => tokenAccess(request).owner
  return [
    endpoint(
      v2Routes.createTeamToken,
      (request) =>
        createTokenResponse(context, tokenAccess(request), { body: request.body, isSingle: false }),
      { authorize: guard },
    ),
    endpoint(v2Routes.readSingleTeamToken, (request) =>
      readSingleToken(context, tokenAccess(request)),
    ),
    endpoint(
      v2Routes.createSingleTeamToken,
      (request) =>
        createTokenResponse(context, tokenAccess(request), { body: request.body, isSingle: true }),
      { authorize: guard },
    ),
    endpoint(v2Routes.deleteSingleTeamToken, (request) =>
      deleteSingleToken(context, tokenAccess(request)),
    ),
    endpoint(v2Routes.listTeamTokens, (request) => {
      const { caller, params, query } = request
      const found = listTeamTokens(context, caller, {
        organizationName: params.organization_name,
        nameContains: query.q,
        sort: query.sort,
      })
      return mapResult(found, (tokens) => {
        const { offset, limit } = offsetAndLimit(request.page)
        const items = tokens.slice(offset, offset + limit).map(tokenResource)
        return pageDocument(request, { items, total: tokens.length })
      })
    }),
  ]
}

function userTokenEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  return [
    endpoint(v2Routes.listUserTokens, (request) => {
      const { caller, params } = request
      const owner = userTokenOwner(context, caller, params.user_id)
      // For another visible user, the list is empty.
      if (!owner.ok) {
        const visible = findVisibleUser(context, caller, params.user_id)
        return mapResult(visible, () => pageIfRequested(request, { items: [], total: 0 }))
      }
      const tokens = tokensOf(context, owner.value)
      const { offset, limit } = offsetAndLimit(request.page)
      const onPage = request.page.isExplicitPage ? tokens.slice(offset, offset + limit) : tokens
      return pageIfRequested(request, { items: onPage.map(tokenResource), total: tokens.length })
    }),
    endpoint(
      v2Routes.createUserToken,
      ({ caller, params, body }) => {
        const owner = userTokenOwner(context, caller, params.user_id)
        return createTokenResponse(context, { caller, owner }, { body, isSingle: false })
      },
      { authorize: ({ caller, params }) => userTokenOwner(context, caller, params.user_id) },
    ),
  ]
}

/** Returns a new token with its secret, which no other response contains. */
function createdTokenResource({ token, secret }: CreatedToken): v2.CreatedAuthenticationToken {
  return tokenDocument(token, secret)
}

function tokenResource(token: ApiTokenRow): v2.AuthenticationToken {
  return tokenDocument(token, null)
}

function tokenDocument<T extends string | null>(row: ApiTokenRow, token: T) {
  return {
    id: row.id,
    type: 'authentication-tokens',
    attributes: {
      'created-at': formatTime(row.createdMs),
      'last-used-at': formatOptionalTime(row.lastUsedMs),
      description: row.description,
      token,
      'expired-at': formatOptionalTime(row.expiresMs),
    },
    relationships: {
      'created-by': toOne('users', row.createdById),
      ...(row.kind === 'team' ? { team: toOne('teams', row.ownerId) } : {}),
    },
  } as const
}
