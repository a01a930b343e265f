import { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { NOT_FOUND, type GovernanceRefusal, type PendingUpload } from '../../model/index.ts'
import {
  callerName,
  findTokenCaller,
  type CallerIdentity,
  type GovernanceCaller,
} from '../caller.ts'
import type { GovernanceContext } from '../context.ts'
import { newSecret } from '../ids.ts'

/**
 * Uploads to a URL that holds a random key instead of a token: the command-line tools send their
 * archives and states without credentials. A key is stored as its hash, serves one purpose, once,
 * and for an hour. It acts for the token that created it: when the token is revoked or loses the
 * permission, the URL stops working.
 */
export interface NewUpload {
  /** Part of the URL; it is not stored. */
  readonly key: string
  readonly upload: PendingUpload
}

export function newUpload(
  { ids, sealer, clock }: GovernanceContext,
  caller: CallerIdentity,
): NewUpload {
  const key = newSecret(ids)
  const expiresMs = clock.nowMs() + v2.UPLOAD_URL_MS_MAX
  const tokenId = caller.kind === 'site' ? caller.accessorId : caller.tokenId
  return { key, upload: { keyHash: sealer.hash(key), expiresMs, tokenId } }
}

/** IDs of running uploads, by state. */
const runningUploads = new WeakMap<object, Set<string>>()

/** Runs one upload per URL at a time; concurrent ones would mix their parts. */
export async function uploadOnce<T>(
  { store }: Pick<GovernanceContext, 'store'>,
  ownerId: string,
  upload: () => Promise<Result<T, GovernanceRefusal>>,
): Promise<Result<T, GovernanceRefusal>> {
  const ownerIds = runningUploads.get(store) ?? new Set()
  runningUploads.set(store, ownerIds)
  if (ownerIds.has(ownerId)) return err(URL_ALREADY_USED)
  ownerIds.add(ownerId)
  try {
    return await upload()
  } finally {
    ownerIds.delete(ownerId)
  }
}

const URL_ALREADY_USED: GovernanceRefusal = {
  code: 'conflict',
  detail: 'The upload URL was used already; create another version to upload again',
}

/**
 * Returns the caller that an upload without a token acts for, while its URL is valid. `sender` is
 * the caller of the request, whose address and route are in the audit record.
 */
export function findUploader(
  context: GovernanceContext,
  upload: PendingUpload | null | undefined,
  sender: GovernanceCaller,
): Result<GovernanceCaller, GovernanceRefusal> {
  if (!upload || upload.expiresMs <= context.clock.nowMs()) return err(NOT_FOUND)
  const identity = findTokenCaller(context, upload.tokenId)
  if (identity === undefined) return err(NOT_FOUND)
  const { by } = sender
  if (by === 'system') return ok({ ...identity, by })
  const actor = {
    Type: ACTOR_TYPES[identity.kind],
    ID: identity.userId,
    Name: callerName(context, identity),
    TokenID: upload.tokenId,
  }
  return ok({ ...identity, by: { ...by, actor } })
}

const ACTOR_TYPES = {
  site: 'management',
  user: 'user',
  team: 'team',
  organization: 'organization',
  'audit-trails': 'organization',
} as const satisfies Record<CallerIdentity['kind'], string>
