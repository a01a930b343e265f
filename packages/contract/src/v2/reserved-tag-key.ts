import { Type } from 'typebox'
import { routes } from '../route.ts'
import { create, list, remove, update } from './define.ts'
import { Timestamp, type Infer } from '../schema.ts'
import { DocumentOf, PageOf, RequestOf, ResourceOf, ToOne } from './json-api.ts'
import { ReservedKey } from './patterns.ts'
import { fieldsQuery } from './query.ts'

/**
 * A tag key that an organization suggests, and whose override by workspaces it may forbid.
 * Unrelated to reserved prefixes, which are rejected for all.
 */
export const ReservedTagKey = ResourceOf('ReservedTagKey', 'reserved-tag-keys', {
  attributes: Type.Object({
    key: ReservedKey(),
    'disable-overrides': Type.Boolean(),
    'created-at': Timestamp(),
    'updated-at': Timestamp(),
  }),
  relationships: Type.Object({ organization: ToOne('organizations') }),
})
export type ReservedTagKey = Infer<typeof ReservedTagKey>

export const ReservedTagKeyDocument = DocumentOf(ReservedTagKey)

export const ReservedTagKeyPage = PageOf(ReservedTagKey)

const disableOverrides = Type.Optional(Type.Boolean({ default: false }))

export const ReservedTagKeyCreateRequest = RequestOf(
  'ReservedTagKeyCreateRequest',
  'reserved-tag-keys',
  { attributes: Type.Object({ key: ReservedKey(), 'disable-overrides': disableOverrides }) },
)
export type ReservedTagKeyCreateRequest = Infer<typeof ReservedTagKeyCreateRequest>

export const ReservedTagKeyUpdateRequest = RequestOf(
  'ReservedTagKeyUpdateRequest',
  'reserved-tag-keys',
  {
    attributes: Type.Optional(
      Type.Object({ key: Type.Optional(ReservedKey()), 'disable-overrides': disableOverrides }),
    ),
  },
)
export type ReservedTagKeyUpdateRequest = Infer<typeof ReservedTagKeyUpdateRequest>

const managers = 'Owners team, teams with Manage projects, or the organization token.'
const brokenKey = 'The key breaks its rules or is taken.'

export const reservedTagKeyRoutes = routes('Reserved tag keys', {
  listReservedTagKeys: list('/organizations/:organization_name/reserved-tag-keys', {
    summary: 'List the reserved tag keys of an organization.',
    query: { ...fieldsQuery('reserved-tag-keys') },
    returns: ReservedTagKeyPage,
    needs: 'Any member of the organization.',
  }),
  createReservedTagKey: create('/organizations/:organization_name/reserved-tag-keys', {
    summary: 'Reserve a tag key.',
    body: ReservedTagKeyCreateRequest,
    returns: ReservedTagKeyDocument,
    result: 'Reserved.',
    errors: { 422: brokenKey },
    needs: managers,
  }),
  updateReservedTagKey: update('/reserved-tag-keys/:reserved_tag_key_id', {
    summary: 'Change a reserved tag key. Existing overrides stay until they are removed.',
    body: ReservedTagKeyUpdateRequest,
    returns: ReservedTagKeyDocument,
    errors: { 422: brokenKey },
    needs: managers,
  }),
  deleteReservedTagKey: remove('/reserved-tag-keys/:reserved_tag_key_id', {
    summary: 'Stop reserving a tag key. Bindings with it stay.',
    needs: managers,
  }),
})
