import { Type } from 'typebox'
import { routes } from '../route.ts'
import { list, read } from './define.ts'
import { jsonResponse } from './answers.ts'
import { MapOf, Named, Nullable, Timestamp, type Infer } from '../schema.ts'
import { AUDIT_ACTOR_TYPES } from '../v1/audit.ts'
import { OneOf, PageOf, ResourceWithId } from './json-api.ts'
import { fieldsQuery, pageQuery } from './query.ts'

/** One write in an organization, or the refusal of one. The same record as `/v1/audit` shows. */
export const AuditTrailEntry = ResourceWithId('AuditTrailEntry', 'audit-trail-entries', {
  id: Type.String({ description: 'Sorts by time.' }),
  attributes: Type.Object({
    timestamp: Timestamp(),
    'actor-type': OneOf(AUDIT_ACTOR_TYPES),
    'actor-id': Type.String(),
    'actor-name': Type.String(),
    'token-id': Type.String({ description: 'The token that was shown; never its secret.' }),
    address: Type.String({ description: 'Where the connection came from.' }),
    'request-id': Type.String({ description: 'As in the header `X-Request-Id` of the answer.' }),
    method: Type.String(),
    route: Type.String({ description: 'The path of the contract.' }),
    action: Type.String({ description: 'The operation id of the contract.' }),
    resources: Type.Array(Type.String(), { description: 'Objects written, by id or name.' }),
    status: Type.Integer({ description: 'The HTTP status of the answer.' }),
  }),
})
export type AuditTrailEntry = Infer<typeof AuditTrailEntry>

export const AuditTrailPage = PageOf(AuditTrailEntry, 'AuditTrailPage')

/**
 * A successful write as an `AuditTrailEntry` tells it, in the flat form that audit collectors read.
 */
export const AuditEvent = Named('AuditEvent', {
  id: Type.String(),
  version: Type.Literal('0'),
  type: Type.Literal('Resource'),
  timestamp: Timestamp(),
  auth: Type.Object({
    accessor_id: Type.String({ description: 'The `actor-id`.' }),
    description: Type.String({ description: 'The `actor-name`.' }),
    type: OneOf(['Client', 'System']),
    impersonator_id: Type.Null(),
    organization_id: Type.String(),
  }),
  request: Type.Object({ id: Type.String() }),
  resource: Type.Object({
    id: Type.String({ description: 'ID of the object written; empty if it has none.' }),
    type: Type.String({ description: 'Such as `policy_set`.' }),
    action: Type.String({ description: 'Such as `create`.' }),
    meta: Nullable(MapOf(Type.Unknown())),
  }),
})
export type AuditEvent = Infer<typeof AuditEvent>

export const AuditEventPage = Named('AuditEventPage', {
  data: Type.Array(AuditEvent),
  pagination: Type.Object({
    current_page: Type.Integer({ minimum: 1 }),
    prev_page: Nullable(Type.Integer({ minimum: 1 })),
    next_page: Nullable(Type.Integer({ minimum: 1 })),
    total_pages: Type.Integer({ minimum: 0 }),
    total_count: Type.Integer({ minimum: 0 }),
  }),
})
export type AuditEventPage = Infer<typeof AuditEventPage>

const TimeText = (description: string) => Type.Optional(Type.String({ description }))

export const auditTrailRoutes = routes('Audit trail', {
  listAuditTrail: list('/organizations/:organization_name/audit-trail', {
    summary: 'List the writes in an organization, the newest first.',
    query: {
      ...fieldsQuery('audit-trail-entries'),
      'filter[actor]': Type.Optional(Type.String({ description: 'The `actor-id`.' })),
      'filter[action]': Type.Optional(Type.String({ description: 'Such as `createProject`.' })),
      'filter[resource]': Type.Optional(Type.String({ description: 'An id or a name.' })),
      since: TimeText('Not before this time (RFC 3339).'),
      until: TimeText('Before this time (RFC 3339).'),
    },
    returns: AuditTrailPage,
    needs: 'Owners team, the organization token, or an audit trail token.',
  }),
  readAuditEvents: read('/organization/audit-trail', {
    summary:
      'List the successful writes in the organization of the token as plain JSON, newest first.',
    query: { ...pageQuery, since: TimeText('Not before this time (RFC 3339).') },
    answers: {
      200: { ...jsonResponse('One page.', AuditEventPage), contentType: 'application/json' },
    },
    errors: { 404: 'The token belongs to no organization.' },
    needs: 'The organization token, or an audit trail token.',
  }),
})
