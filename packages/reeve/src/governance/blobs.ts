import { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import {
  LIMITS,
  type BlobPartRow,
  NOT_FOUND,
  type GovernanceRefusal,
  type PendingUpload,
} from '../model/index.ts'
import { sealedPartBlobKey, put, remove, type Change, type Tables } from '../state/index.ts'
import {
  callerName,
  findTokenCaller,
  type CallerIdentity,
  type GovernanceCaller,
} from './caller.ts'
import { commitSystemWrite } from './commit.ts'
import type { GovernanceContext } from './context.ts'
import { newSecret } from './ids.ts'

/** Owner record of a blob, which stores its length. */
interface BlobOwner {
  readonly organizationId: string
  readonly workspaceId: string
  /** ID of the record, with a suffix after `/` if the record has several blobs. */
  readonly ownerId: string
}

/** Changes to commit with the owner's record; the blob is not readable before. */
export interface StoredBlob {
  readonly changes: readonly Change[]
  readonly blobs: readonly { readonly key: string; readonly bytes: Uint8Array }[]
}

type BlobContext = Pick<GovernanceContext, 'store' | 'sealer'>

/**
 * Stores all of a blob but its last part, encrypted, one part per commit, so that other commits are
 * interleaved (decision 0081). `isWanted` is checked before each part: if it returns false, stored
 * parts are deleted and the result is undefined.
 */
export async function storeBlob(
  { store, sealer }: BlobContext,
  owner: BlobOwner,
  { bytes, isWanted }: { readonly bytes: Uint8Array; readonly isWanted: () => boolean },
): Promise<StoredBlob | undefined> {
  const count = Math.max(1, Math.ceil(bytes.length / LIMITS.blobPartBytes))
  const rows = Array.from({ length: count }, (_, index) => newPartRow(owner, index))
  const toStoredPart = (row: BlobPartRow, index: number): StoredBlob => ({
    changes: [put('blob_parts', row)],
    blobs: [{ key: sealedPartBlobKey(row.id), bytes: sealer.sealBytes(partBytes(bytes, index)) }],
  })
  for (const [index, row] of rows.slice(0, -1).entries()) {
    if (!isWanted()) break
    await commitPart({ store }, toStoredPart(row, index))
  }
  if (!isWanted()) {
    await commitPart(
      { store },
      { changes: deleteBlobChanges(store.tables, owner.ownerId), blobs: [] },
    )
    return undefined
  }
  // A previous, aborted upload may have stored more parts.
  const partRowIds = new Set(rows.map(({ id }) => id))
  const staleIds = partIds(store.tables, owner.ownerId).filter((id) => !partRowIds.has(id))
  const last = toStoredPart(newPartRow(owner, count - 1), count - 1)
  return { ...last, changes: [...last.changes, ...staleIds.map((id) => remove('blob_parts', id))] }
}

function partBytes(bytes: Uint8Array, index: number): Uint8Array {
  const size = LIMITS.blobPartBytes
  return bytes.subarray(index * size, (index + 1) * size)
}

function newPartRow(owner: BlobOwner, index: number): BlobPartRow {
  return { ...owner, id: `${owner.ownerId}/${String(index).padStart(PART_DIGITS, '0')}` }
}

const PART_DIGITS = 6

async function commitPart(
  context: Pick<BlobContext, 'store'>,
  { changes, blobs }: StoredBlob,
): Promise<void> {
  // The audit log has one record for the whole upload.
  await commitSystemWrite(context, { changes, blobs, emitsEvents: false }).durable
}

function partIds({ blob_parts: parts }: Tables, ownerId: string): readonly string[] {
  return [...parts.keysByIndex('owner', ownerId)].toSorted(compareText)
}

/** Returns the changes that delete a blob; its bytes are deleted with its rows. */
export function deleteBlobChanges(tables: Tables, ownerId: string): readonly Change[] {
  return partIds(tables, ownerId).map((id) => remove('blob_parts', id))
}

/**
 * Returns the bytes of a blob of this length; undefined if it was deleted or replaced meanwhile.
 */
export async function readBlob(
  { store, sealer }: BlobContext,
  { ownerId, length }: { readonly ownerId: string; readonly length: number },
): Promise<Uint8Array | undefined> {
  // A row becomes visible slightly before its blob is durable.
  await store.whenDurable()
  const blob = new Uint8Array(length)
  let offset = 0
  for (const id of partIds(store.tables, ownerId)) {
    const sealed = await store.readBlob(sealedPartBlobKey(id))
    if (sealed === undefined) return undefined
    const part = sealer.openBytes(sealed)
    if (offset + part.length > length) return undefined
    blob.set(part, offset)
    offset += part.length
  }
  return offset === length ? blob : undefined
}

/**
 * Uploads to a URL that holds a random key instead of a token: the command-line tools send their
 * archives and states without credentials. A key is stored as its hash, serves one purpose, once,
 * and for an hour. It acts for the token that created it: when the token is revoked or loses the
 * permission, the URL stops working.
 */
interface NewUpload {
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
