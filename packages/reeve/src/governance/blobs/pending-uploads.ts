import { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { UNSEEN, type GovernanceRefusal, type PendingUpload } from '../../model/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import type { GovernanceContext } from '../context.ts'
import { newSecret } from '../ids.ts'

/**
 * Uploads to a URL that holds a random key instead of a token: the command-line tools send their
 * archives and states without credentials. A key is stored as its hash, serves one purpose, once,
 * and for an hour.
 */
export interface NewUpload {
  /** For the URL; it is not stored. */
  readonly key: string
  readonly upload: PendingUpload
}

export function newUpload({ ids, sealer, clock }: GovernanceContext): NewUpload {
  const key = newSecret(ids)
  const expiresMs = clock.nowMs() + v2.UPLOAD_URL_MS_MAX
  return { key, upload: { keyHash: sealer.hash(key), expiresMs } }
}

/** Uploads that are being stored, by the state that they are stored in. */
const running = new WeakMap<object, Set<string>>()

/** Two uploads to one URL would mix their parts. */
export async function uploadOnce<T>(
  { store }: Pick<GovernanceContext, 'store'>,
  ownerId: string,
  upload: () => Promise<Result<T, GovernanceRefusal>>,
): Promise<Result<T, GovernanceRefusal>> {
  const owners = running.get(store) ?? new Set()
  running.set(store, owners)
  if (owners.has(ownerId)) return err(UPLOADED)
  owners.add(ownerId)
  try {
    return await upload()
  } finally {
    owners.delete(ownerId)
  }
}

const UPLOADED: GovernanceRefusal = {
  code: 'conflict',
  detail: 'The upload URL was used already; create another version to upload again',
}

/** The record of an upload's key, while the URL may be used. */
export function findUpload<T extends { readonly upload: PendingUpload }>(
  { clock }: Pick<GovernanceContext, 'clock'>,
  row: T | undefined,
): Result<T, GovernanceRefusal> {
  return row !== undefined && row.upload.expiresMs > clock.nowMs() ? ok(row) : err(UNSEEN)
}

interface Creator {
  readonly createdById: string
  readonly createdByName: string
}

/** An upload without a token acts for whoever created what it belongs to. */
export function uploaderOf(
  caller: GovernanceCaller,
  { createdById, createdByName }: Creator,
): GovernanceCaller {
  const { by } = caller
  const actor = { Type: 'user', ID: createdById, Name: createdByName, TokenID: '' } as const
  return { ...caller, userId: createdById, by: by === 'system' ? by : { ...by, actor } }
}
