import { compareText } from '@reeve/kit/sorted-list.ts'
import { LIMITS, type BlobPartRow } from '../../model/index.ts'
import { blobPartKey, put, remove, type Change, type Tables } from '../../state/index.ts'
import type { GovernanceContext } from '../context.ts'

/** What a blob belongs to, which says how long it is once it is stored. */
export interface BlobOwner {
  readonly organizationId: string
  readonly workspaceId: string
  /** Of a record; with a suffix after `/` where a record has several blobs. */
  readonly ownerId: string
}

/** What is left to commit with the owner's record: before that, nobody reads the blob. */
export interface StoredBlob {
  readonly changes: readonly Change[]
  readonly blobs: readonly { readonly key: string; readonly bytes: Uint8Array }[]
}

type BlobContext = Pick<GovernanceContext, 'store' | 'sealer'>

/**
 * Stores all of a blob but its last part, sealed, one part in each commit, so that commits of
 * others are written in between (decision 0081). Undefined when `isWanted` says before a part that
 * nobody waits for the blob any more: then what was stored of it is removed.
 */
export async function storeBlob(
  { store, sealer }: BlobContext,
  owner: BlobOwner,
  { bytes, isWanted }: { readonly bytes: Uint8Array; readonly isWanted: () => boolean },
): Promise<StoredBlob | undefined> {
  const count = Math.max(1, Math.ceil(bytes.length / LIMITS.blobPartBytes))
  const rows = Array.from({ length: count }, (_, at) => partRow(owner, at))
  const part = (row: BlobPartRow, at: number): StoredBlob => ({
    changes: [put('blob_parts', row)],
    blobs: [{ key: blobPartKey(row.id), bytes: sealer.sealBytes(sliceOf(bytes, at)) }],
  })
  for (const [at, row] of rows.slice(0, -1).entries()) {
    if (!isWanted()) break
    await commit({ store }, part(row, at))
  }
  if (!isWanted()) {
    await commit({ store }, { changes: blobEnd(store.tables, owner.ownerId), blobs: [] })
    return undefined
  }
  // An upload that was broken off may have been longer.
  const known = new Set(rows.map(({ id }) => id))
  const left = partIds(store.tables, owner.ownerId).filter((id) => !known.has(id))
  const last = part(partRow(owner, count - 1), count - 1)
  return { ...last, changes: [...last.changes, ...left.map((id) => remove('blob_parts', id))] }
}

function sliceOf(bytes: Uint8Array, at: number): Uint8Array {
  const size = LIMITS.blobPartBytes
  return bytes.subarray(at * size, (at + 1) * size)
}

function partRow(owner: BlobOwner, at: number): BlobPartRow {
  return { ...owner, id: `${owner.ownerId}/${String(at).padStart(PART_DIGITS, '0')}` }
}

const PART_DIGITS = 6

async function commit(
  { store }: Pick<BlobContext, 'store'>,
  { changes, blobs }: StoredBlob,
): Promise<void> {
  // A part is no event, and the record of the audit log is that of the whole upload.
  await store.commit({ by: 'system', cause: undefined, changes: () => changes, blobs }).durable
}

function partIds({ blob_parts: parts }: Tables, ownerId: string): readonly string[] {
  return [...parts.keysIn('owner', ownerId)].toSorted(compareText)
}

/** Removes a blob; its bytes go with its rows. */
export function blobEnd(tables: Tables, ownerId: string): readonly Change[] {
  return partIds(tables, ownerId).map((id) => remove('blob_parts', id))
}

/**
 * The bytes of a blob that is `length` bytes long; undefined when it was deleted or replaced
 * meanwhile.
 */
export async function readBlob(
  { store, sealer }: BlobContext,
  { ownerId, length }: { readonly ownerId: string; readonly length: number },
): Promise<Uint8Array | undefined> {
  // A row is there a little before the bytes that it names.
  await store.settled()
  const whole = new Uint8Array(length)
  let at = 0
  for (const id of partIds(store.tables, ownerId)) {
    const sealed = await store.readBlob(blobPartKey(id))
    if (sealed === undefined) return undefined
    const part = sealer.openBytes(sealed)
    if (at + part.length > length) return undefined
    whole.set(part, at)
    at += part.length
  }
  return at === length ? whole : undefined
}
