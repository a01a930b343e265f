import type { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  invalidAttribute,
  isEqual,
  NOT_FOUND,
  type GovernanceRefusal,
  type ReservedTagKeyRow,
} from '../../model/index.ts'
import { put, remove, scopedKey } from '../../state/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { newId } from '../ids.ts'
import { organizationPermissions } from '../permissions.ts'
import {
  findOrganization,
  findOrganizationById,
  type VisibleOrganization,
} from '../authorization.ts'

/** A reserved tag key with its organization. */
export interface VisibleTagKey extends VisibleOrganization {
  readonly tagKey: ReservedTagKeyRow
}

/** Lists the reserved tag keys, by key; every member may read them. */
export function listReservedTagKeys(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: { readonly organizationName: string; readonly offset: number; readonly limit: number },
): Result<{ readonly keys: readonly VisibleTagKey[]; readonly total: number }, GovernanceRefusal> {
  const found = findOrganization(context, caller, request.organizationName)
  if (!found.ok) return found
  const { keys, total } = context.lists.reservedTagKeys.page({
    scope: found.value.organization.id,
    order: 'name',
    skip: request.offset,
    take: request.limit,
  })
  const { reserved_tag_keys: table } = context.store.tables
  return ok({ keys: keys.map((id) => ({ ...found.value, tagKey: table.get(id) })), total })
}

/** Returns the organization if the caller may manage its tag keys. */
export function findOrganizationToManageTagKeys(
  context: GovernanceContext,
  caller: GovernanceCaller,
  organizationName: string,
): Result<VisibleOrganization, GovernanceRefusal> {
  const found = findOrganization(context, caller, organizationName)
  return found.ok && !mayManageTagKeys(found.value) ? err(NOT_FOUND) : found
}

function mayManageTagKeys({ role }: VisibleOrganization): boolean {
  return organizationPermissions(role)['can-manage-tags']
}

export async function createReservedTagKey(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: {
    readonly organizationName: string
    readonly data: v2.ReservedTagKeyCreateRequest['data']
  },
): Promise<Result<VisibleTagKey, GovernanceRefusal>> {
  const found = findOrganizationToManageTagKeys(context, caller, request.organizationName)
  if (!found.ok) return found
  const { attributes } = request.data
  const nowMs = context.clock.nowMs()
  const tagKey: ReservedTagKeyRow = {
    id: newId(context.ids, 'reserved-tag-keys'),
    organizationId: found.value.organization.id,
    key: attributes.key,
    disableOverrides: attributes['disable-overrides'] ?? false,
    createdMs: nowMs,
    updatedMs: nowMs,
  }
  const refusal = duplicateKeyProblem(context, tagKey)
  if (refusal !== undefined) return err(refusal)
  await commitWrite(context, {
    caller,
    organizationId: tagKey.organizationId,
    affectedIds: [tagKey.id],
    changes: [put('reserved_tag_keys', tagKey)],
  })
  return ok({ ...found.value, tagKey })
}

/** Keys are case-sensitive, as in bindings. */
function duplicateKeyProblem(
  { store }: GovernanceContext,
  { id, organizationId, key }: ReservedTagKeyRow,
): GovernanceRefusal | undefined {
  const [existingId] = store.tables.reserved_tag_keys.keysByIndex(
    'key',
    scopedKey(organizationId, key),
  )
  if (existingId === undefined || existingId === id) return undefined
  return invalidAttribute('/data/attributes/key', 'Key has already been taken')
}

/** Returns a reserved tag key if the caller may manage it. */
export function findManagedTagKey(
  context: GovernanceContext,
  caller: GovernanceCaller,
  id: string,
): Result<VisibleTagKey, GovernanceRefusal> {
  const tagKey = context.store.tables.reserved_tag_keys.find(id)
  if (tagKey === undefined) return err(NOT_FOUND)
  const found = findOrganizationById(context, caller, tagKey.organizationId)
  if (!found.ok) return found
  return mayManageTagKeys(found.value) ? ok({ ...found.value, tagKey }) : err(NOT_FOUND)
}

/**
 * Updates a reserved tag key. Not retroactive: existing overrides remain until they are removed.
 */
export async function updateReservedTagKey(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { id, data }: { readonly id: string; readonly data: v2.ReservedTagKeyUpdateRequest['data'] },
): Promise<Result<VisibleTagKey, GovernanceRefusal>> {
  const found = findManagedTagKey(context, caller, id)
  if (!found.ok) return found
  const { tagKey: before } = found.value
  const changed: ReservedTagKeyRow = {
    ...before,
    key: data.attributes?.key ?? before.key,
    disableOverrides: data.attributes?.['disable-overrides'] ?? before.disableOverrides,
  }
  const refusal = duplicateKeyProblem(context, changed)
  if (refusal !== undefined) return err(refusal)
  if (isEqual(before, changed)) return found
  const tagKey = { ...changed, updatedMs: context.clock.nowMs() }
  await commitWrite(context, {
    caller,
    organizationId: tagKey.organizationId,
    affectedIds: [id],
    changes: [put('reserved_tag_keys', tagKey)],
  })
  return ok({ ...found.value, tagKey })
}

/** Deletes a reserved tag key; bindings with the key remain. */
export async function deleteReservedTagKey(
  context: GovernanceContext,
  caller: GovernanceCaller,
  id: string,
): Promise<Result<void, GovernanceRefusal>> {
  const found = findManagedTagKey(context, caller, id)
  if (!found.ok) return found
  await commitWrite(context, {
    caller,
    organizationId: found.value.tagKey.organizationId,
    affectedIds: [id],
    changes: [remove('reserved_tag_keys', id)],
  })
  return ok(undefined)
}
