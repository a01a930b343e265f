import type { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  invalid,
  isEqual,
  UNSEEN,
  type GovernanceRefusal,
  type ReservedTagKeyRow,
} from '../../model/index.ts'
import { put, remove, scopedKey } from '../../state/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { newId } from '../ids.ts'
import { organizationPermissions } from '../permissions.ts'
import { findSeat, seatIn, type Seat } from '../standing.ts'

/** A reserved tag key with its organization. */
export interface SeenTagKey extends Seat {
  readonly tagKey: ReservedTagKeyRow
}

/** Lists the reserved tag keys, by key; every member may read them. */
export function listReservedTagKeys(
  context: GovernanceContext,
  caller: GovernanceCaller,
  wish: { readonly organizationName: string; readonly skip: number; readonly take: number },
): Result<{ readonly keys: readonly SeenTagKey[]; readonly total: number }, GovernanceRefusal> {
  const seat = findSeat(context, caller, wish.organizationName)
  if (!seat.ok) return seat
  const { keys, total } = context.lists.reservedTagKeys.page({
    scope: seat.value.organization.id,
    order: 'name',
    skip: wish.skip,
    take: wish.take,
  })
  const { reserved_tag_keys: table } = context.store.tables
  return ok({ keys: keys.map((id) => ({ ...seat.value, tagKey: table.get(id) })), total })
}

/** Returns the organization if the caller may manage its tag keys. */
export function findTagKeyManager(
  context: GovernanceContext,
  caller: GovernanceCaller,
  organizationName: string,
): Result<Seat, GovernanceRefusal> {
  const seat = findSeat(context, caller, organizationName)
  return seat.ok && !manages(seat.value) ? err(UNSEEN) : seat
}

function manages({ standing }: Seat): boolean {
  return organizationPermissions(standing)['can-manage-tags']
}

export async function createReservedTagKey(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: {
    readonly organizationName: string
    readonly data: v2.ReservedTagKeyCreateRequest['data']
  },
): Promise<Result<SeenTagKey, GovernanceRefusal>> {
  const seat = findTagKeyManager(context, caller, request.organizationName)
  if (!seat.ok) return seat
  const { attributes } = request.data
  const nowMs = context.clock.nowMs()
  const tagKey: ReservedTagKeyRow = {
    id: newId(context.ids, 'reserved-tag-keys'),
    organizationId: seat.value.organization.id,
    key: attributes.key,
    disableOverrides: attributes['disable-overrides'] ?? false,
    createdMs: nowMs,
    updatedMs: nowMs,
  }
  const refusal = findTaken(context, tagKey)
  if (refusal !== undefined) return err(refusal)
  await commitWrite(context, {
    action: 'ReservedTagKeyCreated',
    caller,
    organizationId: tagKey.organizationId,
    subjects: [tagKey.id],
    changes: [put('reserved_tag_keys', tagKey)],
  })
  return ok({ ...seat.value, tagKey })
}

/** Keys are case-sensitive, as in bindings. */
function findTaken(
  { store }: GovernanceContext,
  { id, organizationId, key }: ReservedTagKeyRow,
): GovernanceRefusal | undefined {
  const [taken] = store.tables.reserved_tag_keys.keysIn('key', scopedKey(organizationId, key))
  if (taken === undefined || taken === id) return undefined
  return invalid('/data/attributes/key', 'Key has already been taken')
}

/** Returns a reserved tag key if the caller may manage it. */
export function findManagedTagKey(
  context: GovernanceContext,
  caller: GovernanceCaller,
  id: string,
): Result<SeenTagKey, GovernanceRefusal> {
  const tagKey = context.store.tables.reserved_tag_keys.find(id)
  if (tagKey === undefined) return err(UNSEEN)
  const seat = seatIn(context, caller, tagKey.organizationId)
  if (!seat.ok) return seat
  return manages(seat.value) ? ok({ ...seat.value, tagKey }) : err(UNSEEN)
}

/**
 * Updates a reserved tag key. Not retroactive: existing overrides remain until they are removed.
 */
export async function updateReservedTagKey(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { id, data }: { readonly id: string; readonly data: v2.ReservedTagKeyUpdateRequest['data'] },
): Promise<Result<SeenTagKey, GovernanceRefusal>> {
  const seen = findManagedTagKey(context, caller, id)
  if (!seen.ok) return seen
  const { tagKey: before } = seen.value
  const wanted: ReservedTagKeyRow = {
    ...before,
    key: data.attributes?.key ?? before.key,
    disableOverrides: data.attributes?.['disable-overrides'] ?? before.disableOverrides,
  }
  const refusal = findTaken(context, wanted)
  if (refusal !== undefined) return err(refusal)
  if (isEqual(before, wanted)) return seen
  const tagKey = { ...wanted, updatedMs: context.clock.nowMs() }
  await commitWrite(context, {
    action: 'ReservedTagKeyUpdated',
    caller,
    organizationId: tagKey.organizationId,
    subjects: [id],
    changes: [put('reserved_tag_keys', tagKey)],
  })
  return ok({ ...seen.value, tagKey })
}

/** Deletes a reserved tag key; bindings with the key remain. */
export async function deleteReservedTagKey(
  context: GovernanceContext,
  caller: GovernanceCaller,
  id: string,
): Promise<Result<void, GovernanceRefusal>> {
  const seen = findManagedTagKey(context, caller, id)
  if (!seen.ok) return seen
  await commitWrite(context, {
    action: 'ReservedTagKeyDeleted',
    caller,
    organizationId: seen.value.tagKey.organizationId,
    subjects: [id],
    changes: [remove('reserved_tag_keys', id)],
  })
  return ok(undefined)
}
