import { v2 } from '@reeve/contract'
import {
  createToken,
  findSingleToken,
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
} from '../../governance/index.ts'
import type { Result } from '@reeve/kit/result.ts'
import type { GovernanceRefusal } from '../../model/index.ts'
import {
  answer,
  created,
  NO_CONTENT,
  single,
  paged,
  pagedOnRequest,
  windowOf,
} from './documents.ts'
import { endpoint, type Outcome, type V2Endpoint } from './endpoint.ts'
import { createdTokenResource, tokenResource } from './resources/token.ts'

const { v2Routes } = v2

export function tokenEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  return [
    ...organizationTokenEndpoints(context),
    ...teamTokenEndpoints(context),
    ...userTokenEndpoints(context),
    endpoint(v2Routes.readAuthenticationToken, ({ caller, params }) =>
      answer(findToken(context, caller, params.token_id), (token) => single(tokenResource(token))),
    ),
    endpoint(v2Routes.deleteAuthenticationToken, async ({ caller, params }) => {
      const found = findToken(context, caller, params.token_id)
      if (!found.ok) return found
      return answer(await revokeToken(context, caller, found.value), () => NO_CONTENT)
    }),
  ]
}

interface Asking {
  readonly caller: GovernanceCaller
  readonly owner: Result<TokenOwner, GovernanceRefusal>
}

type TokenBody = v2.AuthenticationTokenRequest | null

function readSingle(context: GovernanceContext, { owner }: Asking): Outcome {
  if (!owner.ok) return owner
  return answer(findSingleToken(context, owner.value), (token) => single(tokenResource(token)))
}

async function make(
  context: GovernanceContext,
  { caller, owner }: Asking,
  { body, isSingle }: { readonly body: TokenBody; readonly isSingle: boolean },
): Promise<Outcome> {
  if (!owner.ok) return owner
  const attributes = body?.data.attributes
  const made = await createToken(context, caller, { owner: owner.value, attributes, isSingle })
  return answer(made, (token) => created(createdTokenResource(token)))
}

async function deleteSingle(
  context: GovernanceContext,
  { caller, owner }: Asking,
): Promise<Outcome> {
  if (!owner.ok) return owner
  const found = findSingleToken(context, owner.value)
  if (!found.ok) return found
  return answer(await revokeToken(context, caller, found.value), () => NO_CONTENT)
}

interface OrganizationAsking {
  readonly caller: GovernanceCaller
  readonly params: { readonly organization_name: string }
  readonly query: { readonly token?: 'audit-trails' | undefined }
}

function organizationTokenEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  const asking = ({ caller, params, query }: OrganizationAsking): Asking => ({
    caller,
    owner: organizationTokenOwner(context, caller, {
      name: params.organization_name,
      kind: query.token ?? 'organization',
    }),
  })
  return [
    endpoint(v2Routes.readOrganizationToken, (request) => readSingle(context, asking(request))),
    endpoint(
      v2Routes.createOrganizationToken,
      (request) => make(context, asking(request), { body: request.body, isSingle: true }),
      { guard: (request) => asking(request).owner },
    ),
    endpoint(v2Routes.deleteOrganizationToken, (request) => deleteSingle(context, asking(request))),
  ]
}

interface TeamAsking {
  readonly caller: GovernanceCaller
  readonly params: { readonly team_id: string }
}

function teamTokenEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  const asking = ({ caller, params }: TeamAsking): Asking => ({
    caller,
    owner: teamTokenOwner(context, caller, params.team_id),
  })
  const guard = (request: TeamAsking): Asking['owner'] => asking(request).owner
  return [
    endpoint(
      v2Routes.createTeamToken,
      (request) => make(context, asking(request), { body: request.body, isSingle: false }),
      { guard },
    ),
    endpoint(v2Routes.readSingleTeamToken, (request) => readSingle(context, asking(request))),
    endpoint(
      v2Routes.createSingleTeamToken,
      (request) => make(context, asking(request), { body: request.body, isSingle: true }),
      { guard },
    ),
    endpoint(v2Routes.deleteSingleTeamToken, (request) => deleteSingle(context, asking(request))),
    endpoint(v2Routes.listTeamTokens, (request) => {
      const { caller, params, query } = request
      const found = listTeamTokens(context, caller, {
        organizationName: params.organization_name,
        part: query.q,
        sort: query.sort,
      })
      return answer(found, (tokens) => {
        const { skip, take } = windowOf(request.page)
        const items = tokens.slice(skip, skip + take).map(tokenResource)
        return paged(request, { items, total: tokens.length })
      })
    }),
  ]
}

function userTokenEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  return [
    endpoint(v2Routes.listUserTokens, (request) => {
      const { caller, params } = request
      const owner = userTokenOwner(context, caller, params.user_id)
      // Of another user whom one may know, the list is empty.
      if (!owner.ok) {
        const known = findVisibleUser(context, caller, params.user_id)
        return answer(known, () => pagedOnRequest(request, { items: [], total: 0 }))
      }
      const tokens = tokensOf(context, owner.value)
      const { skip, take } = windowOf(request.page)
      const onPage = request.page.isAsked ? tokens.slice(skip, skip + take) : tokens
      return pagedOnRequest(request, { items: onPage.map(tokenResource), total: tokens.length })
    }),
    endpoint(
      v2Routes.createUserToken,
      ({ caller, params, body }) => {
        const owner = userTokenOwner(context, caller, params.user_id)
        return make(context, { caller, owner }, { body, isSingle: false })
      },
      { guard: ({ caller, params }) => userTokenOwner(context, caller, params.user_id) },
    ),
  ]
}
