import { AclToken, v1Routes } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { fieldKindsFromSchema } from '../../lang/filter/index.ts'
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
  type TokenWritten,
  type WorkloadContext,
} from '../../workload/index.ts'
import { EMPTY, json } from '../answer.ts'
import { newTokenRegion, storedTokenRegion } from '../pipeline/region-routing.ts'
import {
  read,
  write,
  type Endpoint,
  type ReadPlan,
  type RequestOf,
  type Written,
  type WriteRequestOf,
} from './endpoint.ts'
import { listAnswer } from './list-answer.ts'
import { requiredBody } from './required-body.ts'
import { anyone, management } from './requirements.ts'
import { visible, walkIds, walkKeys, type Walk } from './walks.ts'

/** The secret cannot be found out by asking whether a filter matches. */
const TOKEN_FILTER = { kinds: fieldKindsFromSchema(AclToken), hidden: ['SecretID'] }
const TOKEN_NOT_FOUND: Refusal = refusal('acl-token-not-found', 'ACL token not found')

export function aclTokenEndpoints(context: WorkloadContext): readonly Endpoint[] {
  return [
    ...bootstrapEndpoints(context),
    ...oneTimeEndpoints(context),
    read(v1Routes.listAclTokens, management, (request) => listTokens(context, request)),
    tellingExpiry(
      read(v1Routes.readOwnAclToken, anyone, (request) => ok(readSelf(context, request))),
    ),
    tellingExpiry(read(v1Routes.readAclToken, anyone, (request) => readToken(context, request))),
    ...tokenWrites(context),
  ]
}

function tokenWrites(context: WorkloadContext): readonly Endpoint[] {
  const create = write(v1Routes.createAclToken, management, async (request) => {
    const body = requiredBody(request.body)
    return body.ok ? tokenAnswer(await writeToken(context, request.caller, body.value)) : body
  })
  const update = write(v1Routes.updateAclToken, management, (request) =>
    updateToken(context, request),
  )
  const remove = write(v1Routes.deleteAclToken, management, async ({ caller, params }) => {
    if (params.accessor_id === '') return err(MISSING_ACCESSOR)
    const deleted = await deleteToken(context, caller, params.accessor_id)
    return deleted.ok ? ok({ index: deleted.value.index, answer: EMPTY }) : deleted
  })
  const resolveRegion = storedTokenRegion(context.store)
  return [
    { ...create, resolveRegion: newTokenRegion },
    { ...update, resolveRegion },
    { ...remove, resolveRegion },
  ]
}

const MISSING_ACCESSOR: Refusal = refusal('invalid-input', 'Missing Token Accessor')

function tellingExpiry(endpoint: Endpoint): Endpoint {
  return { ...endpoint, token: 'expiry-told' }
}

/** These two are for callers whose token is lost or not there yet, so a stale one does no harm. */
function bootstrapEndpoints(context: WorkloadContext): readonly Endpoint[] {
  const endpoint = write(v1Routes.bootstrapAcl, anyone, async ({ caller, body }) =>
    // The body is optional: a missing one is undefined.
    tokenAnswer(await bootstrapAcl(context, caller, body ?? {})),
  )
  const bodyProblem = 'failed to decode request body: '
  return [{ ...endpoint, token: 'ignored', bodyProblem }]
}

function oneTimeEndpoints(context: WorkloadContext): readonly Endpoint[] {
  const exchange = write(v1Routes.exchangeOneTimeToken, anyone, async (request) => {
    const body = requiredBody(request.body)
    if (!body.ok) return body
    const exchanged = await exchangeOneTimeToken(context, request.caller, body.value)
    if (!exchanged.ok) return exchanged
    return ok({ index: exchanged.value.Index, answer: json(exchanged.value) })
  })
  return [
    write(v1Routes.createOneTimeToken, anyone, async ({ caller }) => {
      const created = await createOneTimeToken(context, caller)
      if (!created.ok) return created
      return ok({ index: created.value.Index, answer: json(created.value) })
    }),
    { ...exchange, token: 'ignored' },
  ]
}

function tokenAnswer(written: Result<TokenWritten, Refusal>): Result<Written, Refusal> {
  if (!written.ok) return written
  return ok({ index: written.value.index, answer: json(written.value.token) })
}

async function updateToken(
  context: WorkloadContext,
  { params, ...request }: WriteRequestOf<typeof v1Routes.updateAclToken>,
): Promise<Result<Written, Refusal>> {
  if (params.accessor_id === '') return err(MISSING_ACCESSOR)
  const body = requiredBody(request.body)
  if (!body.ok) return body
  if (body.value.AccessorID !== params.accessor_id)
    return err(refusal('invalid-input', 'ACL token accessor does not match request path'))
  return tokenAnswer(await writeToken(context, request.caller, body.value))
}

/** Oldest first, or by accessor with `prefix` or `global`. */
function listTokens(
  context: WorkloadContext,
  { query }: RequestOf<typeof v1Routes.listAclTokens>,
): Result<ReadPlan, Refusal> {
  const { acl_tokens } = context.store.tables
  const isGlobal = query.global ?? false
  const byPrefix = walkIds(acl_tokens, 'acl token', query.prefix)
  if (!byPrefix.ok) return byPrefix
  const hasPrefix = (query.prefix ?? '') !== ''
  const order: Walk<AclTokenRow> =
    isGlobal && !hasPrefix ? walkKeys(acl_tokens, '') : byPrefix.value
  return ok({
    index: () => acl_tokens.lastIndex,
    watch: [{ table: 'acl_tokens' }],
    answer: (yieldTurn) =>
      listAnswer(
        {
          walk: visible(order, (row) => !isGlobal || row.Global),
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
  { caller, params }: RequestOf<typeof v1Routes.readAclToken>,
): Result<ReadPlan, Refusal> {
  if (params.accessor_id === '') return err(MISSING_ACCESSOR)
  const refused = checkTokenReader(caller, params.accessor_id)
  if (refused !== undefined) return err(refused)
  const id = checkUuid('acl token', params.accessor_id)
  if (!id.ok) return err(refusal('invalid-input', id.error))
  const missing = caller.grants.isManagement ? TOKEN_NOT_FOUND : PERMISSION_DENIED
  return ok(planOf(context, id.value, missing))
}

/** Without a token that is the anonymous one. */
function readSelf(
  context: WorkloadContext,
  { caller }: RequestOf<typeof v1Routes.readOwnAclToken>,
): ReadPlan {
  const plan = planOf(context, caller.accessorId, PERMISSION_DENIED)
  return caller.type === 'anonymous' ? { ...plan, answer: () => ok(json(ANONYMOUS_TOKEN)) } : plan
}

function planOf(context: WorkloadContext, accessorId: string, missing: Refusal): ReadPlan {
  const { acl_tokens } = context.store.tables
  return {
    index: () => acl_tokens.modifyIndexOf(accessorId) ?? acl_tokens.lastIndex,
    watch: [{ table: 'acl_tokens', key: accessorId }],
    answer: () => {
      const row = acl_tokens.find(accessorId)
      return row === undefined ? err(missing) : ok(json(tokenWithSecret(context, row)))
    },
  }
}
