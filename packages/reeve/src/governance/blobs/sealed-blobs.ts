import { compareText } from '@reeve/kit/sorted-list.ts'
import { LIMITS, type BlobPartRow } from '../../model/index.ts'
import { sealedPartBlobKey, put, remove, type Change, type Tables } from '../../state/index.ts'
import type { GovernanceContext } from '../context.ts'

/** Owner record of a blob, which stores its length. */
export interface BlobOwner {
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
  { store }: Pick<BlobContext, 'store'>,
  { changes, blobs }: StoredBlob,
): Promise<void> {
  // A part emits no event; the audit log has one record for the whole upload.
  await store.commit({ by: 'system', cause: undefined, changes: () => changes, blobs }).durable
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
