import { AclToken, v1Routes } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { fieldTypeFromSchema } from '../../lang/filter/index.ts'
import {
  checkUuid,
  PERMISSION_DENIED,
  refusal,
  type AclTokenRow,
  type Refusal,
} from '../../model/index.ts'
import {
  ANONYMOUS_TOKEN,
  bootstrapAcl,
  checkTokenReader,
  createOneTimeToken,
  deleteToken,
  exchangeOneTimeToken,
  tokenFilterView,
  tokenStub,
  tokenWithSecret,
  writeToken,
  type TokenWriteResult,
  type WorkloadContext,
} from '../../workload/index.ts'
import { EMPTY_RESPONSE, json } from '../response.ts'
import { newTokenRegion, storedTokenRegion } from '../pipeline/region-routing.ts'
import {
  read,
  write,
  type Endpoint,
  type WatchedRead,
  type V1Request,
  type WriteResult,
  type WriteRequestOf,
} from './endpoint.ts'
import { filterVisible, listResponse, type RowScan, scanByIdPrefix, scanByKey } from './reads.ts'
import { requireBody } from './errors.ts'
import { allowAll, management } from './access.ts'

/** Filters must not reveal secrets by whether they match. */
const TOKEN_FILTER = { rowType: fieldTypeFromSchema(AclToken), hidden: ['SecretID'] }
const TOKEN_NOT_FOUND: Refusal = refusal('acl-token-not-found', 'ACL token not found')

export function aclTokenEndpoints(context: WorkloadContext): readonly Endpoint[] {
  return [
    ...bootstrapEndpoints(context),
    ...oneTimeEndpoints(context),
    read(v1Routes.listAclTokens, management, (request) => listTokens(context, request)),
    reportingExpiry(
      read(v1Routes.readOwnAclToken, allowAll, (request) => ok(readOwnToken(context, request))),
    ),
    reportingExpiry(
      read(v1Routes.readAclToken, allowAll, (request) => readToken(context, request)),
    ),
    ...tokenWrites(context),
  ]
}

function tokenWrites(context: WorkloadContext): readonly Endpoint[] {
  const create = write(v1Routes.createAclToken, management, async (request) => {
    const body = requireBody(request.body)
    return body.ok ? tokenResponse(await writeToken(context, request.caller, body.value)) : body
  })
  const update = write(v1Routes.updateAclToken, management, (request) =>
    updateToken(context, request),
  )
  const remove = write(v1Routes.deleteAclToken, management, async ({ caller, params }) => {
    if (params.accessor_id === '') return err(ACCESSOR_MISSING)
    const deleted = await deleteToken(context, caller, params.accessor_id)
    return deleted.ok ? ok({ index: deleted.value.index, response: EMPTY_RESPONSE }) : deleted
  })
  const resolveRegion = storedTokenRegion(context.store)
  return [
    { ...create, resolveRegion: newTokenRegion },
    { ...update, resolveRegion },
    { ...remove, resolveRegion },
  ]
}

const ACCESSOR_MISSING: Refusal = refusal('invalid-input', 'Missing Token Accessor')

function reportingExpiry(endpoint: Endpoint): Endpoint {
  return { ...endpoint, authentication: 'expiry-told' }
}

/**
 * These routes are for callers whose token is lost or not created yet, so a stale token is ignored.
 */
function bootstrapEndpoints(context: WorkloadContext): readonly Endpoint[] {
  const endpoint = write(v1Routes.bootstrapAcl, allowAll, async ({ caller, body }) =>
    // The body is optional: a missing one is undefined.
    tokenResponse(await bootstrapAcl(context, caller, body ?? {})),
  )
  const bodyProblem = 'failed to decode request body: '
  return [{ ...endpoint, authentication: 'ignored', bodyErrorPrefix: bodyProblem }]
}

function oneTimeEndpoints(context: WorkloadContext): readonly Endpoint[] {
  const exchange = write(v1Routes.exchangeOneTimeToken, allowAll, async (request) => {
    const body = requireBody(request.body)
    if (!body.ok) return body
    const exchanged = await exchangeOneTimeToken(context, request.caller, body.value)
    if (!exchanged.ok) return exchanged
    return ok({ index: exchanged.value.Index, response: json(exchanged.value) })
  })
  return [
    write(v1Routes.createOneTimeToken, allowAll, async ({ caller }) => {
      const created = await createOneTimeToken(context, caller)
      if (!created.ok) return created
      return ok({ index: created.value.Index, response: json(created.value) })
    }),
    { ...exchange, authentication: 'ignored' },
  ]
}

function tokenResponse(written: Result<TokenWriteResult, Refusal>): Result<WriteResult, Refusal> {
  if (!written.ok) return written
  return ok({ index: written.value.index, response: json(written.value.token) })
}

async function updateToken(
  context: WorkloadContext,
  { params, ...request }: WriteRequestOf<typeof v1Routes.updateAclToken>,
): Promise<Result<WriteResult, Refusal>> {
  if (params.accessor_id === '') return err(ACCESSOR_MISSING)
  const body = requireBody(request.body)
  if (!body.ok) return body
  if (body.value.AccessorID !== params.accessor_id)
    return err(refusal('invalid-input', 'ACL token accessor does not match request path'))
  return tokenResponse(await writeToken(context, request.caller, body.value))
}

/** Lists tokens, oldest first; sorted by accessor with `prefix` or `global`. */
function listTokens(
  context: WorkloadContext,
  { query }: V1Request<typeof v1Routes.listAclTokens>,
): Result<WatchedRead, Refusal> {
  const { acl_tokens } = context.store.tables
  const isGlobal = query.global ?? false
  const byPrefix = scanByIdPrefix(acl_tokens, 'acl token', query.prefix)
  if (!byPrefix.ok) return byPrefix
  const hasPrefix = (query.prefix ?? '') !== ''
  const order: RowScan<AclTokenRow> =
    isGlobal && !hasPrefix ? scanByKey(acl_tokens, '') : byPrefix.value
  return ok({
    index: () => acl_tokens.lastIndex,
    watch: [{ table: 'acl_tokens' }],
    respond: (yieldTurn) =>
      listResponse(
        {
          scan: filterVisible(order, (row) => !isGlobal || row.Global),
          query,
          filter: TOKEN_FILTER,
          filterView: (row) => tokenFilterView(context, row),
          stub: (row) => tokenStub(context, row),
        },
        yieldTurn,
      ),
  })
}

function readToken(
  context: WorkloadContext,
  { caller, params }: V1Request<typeof v1Routes.readAclToken>,
): Result<WatchedRead, Refusal> {
  if (params.accessor_id === '') return err(ACCESSOR_MISSING)
  const refused = checkTokenReader(caller, params.accessor_id)
  if (refused !== undefined) return err(refused)
  const id = checkUuid('acl token', params.accessor_id)
  if (!id.ok) return err(refusal('invalid-input', id.error))
  const missing = caller.grants.isManagement ? TOKEN_NOT_FOUND : PERMISSION_DENIED
  return ok(readTokenPlan(context, id.value, missing))
}

/** Reads the caller's token; the anonymous token without one. */
function readOwnToken(
  context: WorkloadContext,
  { caller }: V1Request<typeof v1Routes.readOwnAclToken>,
): WatchedRead {
  const plan = readTokenPlan(context, caller.accessorId, PERMISSION_DENIED)
  return caller.type === 'anonymous' ? { ...plan, respond: () => ok(json(ANONYMOUS_TOKEN)) } : plan
}

function readTokenPlan(
  context: WorkloadContext,
  accessorId: string,
  missing: Refusal,
): WatchedRead {
  const { acl_tokens } = context.store.tables
  return {
    index: () => acl_tokens.modifyIndexOf(accessorId) ?? acl_tokens.lastIndex,
    watch: [{ table: 'acl_tokens', key: accessorId }],
    respond: () => {
      const row = acl_tokens.find(accessorId)
      return row === undefined ? err(missing) : ok(json(tokenWithSecret(context, row)))
    },
  }
}
