import * as t from './json-api.ts'
import { create, list, remove, update, routes } from './define.ts'

/**
 * A tag key that an organization suggests, and whose override by workspaces it may forbid.
 * Unrelated to reserved prefixes, which are rejected for all.
 */
export const ReservedTagKey = t.ResourceOf('ReservedTagKey', 'reserved-tag-keys', {
  attributes: t.Object({
    key: t.ReservedKey(),
    'disable-overrides': t.Boolean(),
    'created-at': t.Timestamp(),
    'updated-at': t.Timestamp(),
  }),
  relationships: t.Object({ organization: t.ToOne('organizations') }),
})
export type ReservedTagKey = t.Infer<typeof ReservedTagKey>

const disableOverrides = t.Optional(t.Boolean({ default: false }))

export const ReservedTagKeyCreateRequest = t.RequestOf(
  'ReservedTagKeyCreateRequest',
  'reserved-tag-keys',
  { attributes: t.Object({ key: t.ReservedKey(), 'disable-overrides': disableOverrides }) },
)
export type ReservedTagKeyCreateRequest = t.Infer<typeof ReservedTagKeyCreateRequest>

export const ReservedTagKeyUpdateRequest = t.UpdateRequestOf(
  'ReservedTagKeyUpdateRequest',
  'reserved-tag-keys',
  { key: t.ReservedKey(), 'disable-overrides': disableOverrides },
)
export type ReservedTagKeyUpdateRequest = t.Infer<typeof ReservedTagKeyUpdateRequest>

const managers = 'Owners team, teams with Manage projects, or the organization token.'
const brokenKey = 'The key breaks its rules or is taken.'

export const reservedTagKeyRoutes = routes('Reserved tag keys', {
  listReservedTagKeys: list('/organizations/:organization_name/reserved-tag-keys', {
    summary: 'List the reserved tag keys of an organization.',
    returns: ReservedTagKey,
    needs: 'Any member of the organization.',
  }),
  createReservedTagKey: create('/organizations/:organization_name/reserved-tag-keys', {
    summary: 'Reserve a tag key.',
    body: ReservedTagKeyCreateRequest,
    returns: ReservedTagKey,
    result: 'Reserved.',
    errors: { 422: brokenKey },
    needs: managers,
  }),
  updateReservedTagKey: update('/reserved-tag-keys/:reserved_tag_key_id', {
    summary: 'Change a reserved tag key. Existing overrides stay until they are removed.',
    body: ReservedTagKeyUpdateRequest,
    returns: ReservedTagKey,
    errors: { 422: brokenKey },
    needs: managers,
  }),
  deleteReservedTagKey: remove('/reserved-tag-keys/:reserved_tag_key_id', {
    summary: 'Stop reserving a tag key. Bindings with it stay.',
    needs: managers,
  }),
})
