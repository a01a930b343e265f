import { Type } from 'typebox'
import { route } from '../route.ts'
import { Timestamp, type Shape } from '../shape.ts'
import { answer, bodyRefusals, emptyAnswer, refusals } from './answers.ts'
import { DocumentOf, PageOf, RequestOf, ResourceOf, ToOne } from './json-api.ts'
import { OrganizationPath, ReservedTagKeyPath } from './paths.ts'
import { PrefixedId, ReservedKey } from './patterns.ts'
import { fieldsQuery, pageQuery } from './query.ts'

/**
 * A tag key that an organization suggests, and may forbid workspaces to override (reference §2.4).
 * Not to be confused with reserved prefixes, which nobody may use.
 */
export const ReservedTagKey = ResourceOf({
  $id: 'ReservedTagKey',
  type: 'reserved-tag-keys',
  id: PrefixedId('reserved-tag-keys'),
  members: {
    attributes: Type.Object({
      key: ReservedKey(),
      'disable-overrides': Type.Boolean(),
      'created-at': Timestamp(),
      'updated-at': Timestamp(),
    }),
    relationships: Type.Object({ organization: ToOne('organizations') }),
  },
})
export type ReservedTagKey = Shape<typeof ReservedTagKey>

export const ReservedTagKeyDocument = DocumentOf('ReservedTagKeyDocument', ReservedTagKey)
export type ReservedTagKeyDocument = Shape<typeof ReservedTagKeyDocument>

export const ReservedTagKeyPage = PageOf('ReservedTagKeyPage', ReservedTagKey)
export type ReservedTagKeyPage = Shape<typeof ReservedTagKeyPage>

const disableOverrides = Type.Optional(Type.Boolean({ default: false }))

export const ReservedTagKeyCreateRequest = RequestOf({
  $id: 'ReservedTagKeyCreateRequest',
  type: 'reserved-tag-keys',
  members: {
    attributes: Type.Object({ key: ReservedKey(), 'disable-overrides': disableOverrides }),
  },
})
export type ReservedTagKeyCreateRequest = Shape<typeof ReservedTagKeyCreateRequest>

export const ReservedTagKeyUpdateRequest = RequestOf({
  $id: 'ReservedTagKeyUpdateRequest',
  type: 'reserved-tag-keys',
  members: {
    attributes: Type.Optional(
      Type.Object({ key: Type.Optional(ReservedKey()), 'disable-overrides': disableOverrides }),
    ),
  },
})
export type ReservedTagKeyUpdateRequest = Shape<typeof ReservedTagKeyUpdateRequest>

const section = 'Reserved tag keys'
const managers = 'Owners team, teams with Manage projects, or the organization token.'
const unseen = 'Reserved tag key not found, or the caller may not manage it.'
const brokenKey = 'The key breaks its rules or is taken.'

export const reservedTagKeyRoutes = {
  listReservedTagKeys: route({
    id: 'listReservedTagKeys',
    methods: ['GET'],
    path: '/api/v2/organizations/:organization_name/reserved-tag-keys',
    summary: 'List the reserved tag keys of an organization.',
    section,
    params: OrganizationPath,
    query: Type.Object({ ...pageQuery, ...fieldsQuery('reserved-tag-keys') }),
    answers: {
      200: answer('One page of keys.', ReservedTagKeyPage),
      ...refusals({ 404: 'Organization not found, or not visible to the caller.' }),
    },
    needs: 'Any member of the organization.',
  }),
  createReservedTagKey: route({
    id: 'createReservedTagKey',
    methods: ['POST'],
    path: '/api/v2/organizations/:organization_name/reserved-tag-keys',
    summary: 'Reserve a tag key.',
    section,
    params: OrganizationPath,
    body: ReservedTagKeyCreateRequest,
    answers: {
      201: answer('Reserved.', ReservedTagKeyDocument),
      ...bodyRefusals({
        404: 'Organization not found, or the caller may not manage its tag keys.',
        422: brokenKey,
      }),
    },
    needs: managers,
  }),
  updateReservedTagKey: route({
    id: 'updateReservedTagKey',
    methods: ['PATCH'],
    path: '/api/v2/reserved-tag-keys/:reserved_tag_key_id',
    summary: 'Change a reserved tag key. Existing overrides stay until they are removed.',
    section,
    params: ReservedTagKeyPath,
    body: ReservedTagKeyUpdateRequest,
    answers: {
      200: answer('The changed key.', ReservedTagKeyDocument),
      ...bodyRefusals({
        404: unseen,
        409: 'The id in the body is not the one in the path.',
        422: brokenKey,
      }),
    },
    needs: managers,
  }),
  deleteReservedTagKey: route({
    id: 'deleteReservedTagKey',
    methods: ['DELETE'],
    path: '/api/v2/reserved-tag-keys/:reserved_tag_key_id',
    summary: 'Stop reserving a tag key. Bindings with it stay.',
    section,
    params: ReservedTagKeyPath,
    answers: { 204: emptyAnswer('Deleted.'), ...refusals({ 404: unseen }) },
    needs: managers,
  }),
} as const
