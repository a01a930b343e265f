import type {
  OneTimeTokenExchangeRequest,
  OneTimeTokenExchangeResponse,
  OneTimeTokenResponse,
} from '@reeve/contract'
import { isoFromMs } from '@reeve/kit/duration.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  LIMITS,
  PERMISSION_DENIED,
  refusal,
  type AclTokenRow,
  type Refusal,
} from '../../model/index.ts'
import { put, remove, type Author } from '../../state/index.ts'
import type { RequestCaller, WorkloadContext } from '../context.ts'
import { tokenWithSecret } from './token-view.ts'

/** Creates a one-time token. A token has at most one; a new one invalidates the previous one. */
export async function createOneTimeToken(
  { store, sealer, ids, clock }: WorkloadContext,
  { accessorId, by }: RequestCaller,
): Promise<Result<OneTimeTokenResponse, Refusal>> {
  // Without a stored token there is nothing to exchange it for.
  if (!store.tables.acl_tokens.has(accessorId)) return err(PERMISSION_DENIED)
  const secret = ids.uuid()
  const row = {
    AccessorID: accessorId,
    SecretHash: sealer.hash(secret),
    ExpiresAt: isoFromMs(clock.nowMs() + LIMITS.oneTimeTokenMs),
    CreateIndex: 0,
    ModifyIndex: 0,
  }
  const { index, durable } = store.commit({
    by,
    cause: undefined,
    // Deleted first, so that the new row gets a new create index.
    changes: () => [
      ...(store.tables.one_time_tokens.has(accessorId)
        ? [remove('one_time_tokens', accessorId)]
        : []),
      put('one_time_tokens', row),
    ],
  })
  await durable
  const { AccessorID, ExpiresAt } = row
  return ok({
    OneTimeToken: {
      OneTimeSecretID: secret,
      AccessorID,
      ExpiresAt,
      CreateIndex: index,
      ModifyIndex: index,
    },
    Index: index,
  })
}

/** Exchanges a one-time secret for its token. It works once; all failures return the same error. */
export async function exchangeOneTimeToken(
  context: WorkloadContext,
  { by }: Author,
  request: OneTimeTokenExchangeRequest,
): Promise<Result<OneTimeTokenExchangeResponse, Refusal>> {
  const { store } = context
  const secret = request.OneTimeSecretID ?? ''
  if (secret === '')
    return err(refusal('invalid-input', 'one-time token lookup failed: missing secret'))
  const token = findExchangeableToken(context, secret)
  if (token === undefined) return err(PERMISSION_DENIED)
  const { index, durable } = store.commit({
    by,
    cause: undefined,
    changes: () => [remove('one_time_tokens', token.AccessorID)],
  })
  await durable
  return ok({ Token: tokenWithSecret(context, token), Index: index })
}

/** Finds the token of a one-time secret, if neither of them has expired. */
function findExchangeableToken(
  { store, sealer, clock }: WorkloadContext,
  secret: string,
): AclTokenRow | undefined {
  const { one_time_tokens, acl_tokens } = store.tables
  const [accessorId = ''] = one_time_tokens.keysByIndex('secret', sealer.hash(secret))
  const oneTime = one_time_tokens.find(accessorId)
  const token = acl_tokens.find(accessorId)
  const nowMs = clock.nowMs()
  const isExpired = (time: string | null): boolean => time !== null && Date.parse(time) <= nowMs
  if (oneTime === undefined || isExpired(oneTime.ExpiresAt)) return undefined
  return token === undefined || isExpired(token.ExpirationTime) ? undefined : token
}
