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

/** A token has one at a time: a new one makes the old one void. */
export async function createOneTimeToken(
  { store, sealer, ids, clock }: WorkloadContext,
  { accessorId, by }: RequestCaller,
): Promise<Result<OneTimeTokenResponse, Refusal>> {
  // Without a stored token there is nothing that it could be exchanged for.
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
    // Removed first, so that the new one has its own index of creation.
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

/** It works once; every way to fail looks the same. */
export async function exchangeOneTimeToken(
  context: WorkloadContext,
  { by }: Author,
  request: OneTimeTokenExchangeRequest,
): Promise<Result<OneTimeTokenExchangeResponse, Refusal>> {
  const { store } = context
  const secret = request.OneTimeSecretID ?? ''
  if (secret === '')
    return err(refusal('invalid-input', 'one-time token lookup failed: missing secret'))
  const token = findOwner(context, secret)
  if (token === undefined) return err(PERMISSION_DENIED)
  const { index, durable } = store.commit({
    by,
    cause: undefined,
    changes: () => [remove('one_time_tokens', token.AccessorID)],
  })
  await durable
  return ok({ Token: tokenWithSecret(context, token), Index: index })
}

/** The token that a one-time secret stands for, if both may still be used. */
function findOwner(
  { store, sealer, clock }: WorkloadContext,
  secret: string,
): AclTokenRow | undefined {
  const { one_time_tokens, acl_tokens } = store.tables
  const [accessorId = ''] = one_time_tokens.keysIn('secret', sealer.hash(secret))
  const oneTime = one_time_tokens.find(accessorId)
  const token = acl_tokens.find(accessorId)
  const nowMs = clock.nowMs()
  const isOver = (time: string | null): boolean => time !== null && Date.parse(time) <= nowMs
  if (oneTime === undefined || isOver(oneTime.ExpiresAt)) return undefined
  return token === undefined || isOver(token.ExpirationTime) ? undefined : token
}
