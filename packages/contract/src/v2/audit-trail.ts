import * as t from './json-api.ts'
import { list, read, routes } from './define.ts'
import { AUDIT_ACTOR_TYPES } from '../v1/audit.ts'

/** One write in an organization, or the refusal of one. The same record as `/v1/audit` shows. */
export const AuditTrailEntry = t.ResourceWithId('AuditTrailEntry', 'audit-trail-entries', {
  id: t.String({ description: 'Sorts by time.' }),
  attributes: t.Object({
    timestamp: t.Timestamp(),
    'actor-type': t.OneOf(AUDIT_ACTOR_TYPES),
    'actor-id': t.String(),
    'actor-name': t.String(),
    'token-id': t.String({ description: 'The token that was shown; never its secret.' }),
    address: t.String({ description: 'Where the connection came from.' }),
    'request-id': t.String({ description: 'As in the header `X-Request-Id` of the answer.' }),
    method: t.String(),
    route: t.String({ description: 'The path of the contract.' }),
    action: t.String({ description: 'The operation id of the contract.' }),
    resources: t.Array(t.String(), { description: 'Objects written, by id or name.' }),
    status: t.Integer({ description: 'The HTTP status of the answer.' }),
  }),
})
export type AuditTrailEntry = t.Infer<typeof AuditTrailEntry>

export const AuditTrailPage = t.PageOf(AuditTrailEntry, 'AuditTrailPage')

/**
 * A successful write as an `AuditTrailEntry` tells it, in the flat form that audit collectors read.
 */
export const AuditEvent = t.Named('AuditEvent', {
  id: t.String(),
  version: t.Literal('0'),
  type: t.Literal('Resource'),
  timestamp: t.Timestamp(),
  auth: t.Object({
    accessor_id: t.String({ description: 'The `actor-id`.' }),
    description: t.String({ description: 'The `actor-name`.' }),
    type: t.OneOf(['Client', 'System']),
    impersonator_id: t.Null(),
    organization_id: t.String(),
  }),
  request: t.Object({ id: t.String() }),
  resource: t.Object({
    id: t.String({ description: 'ID of the object written; empty if it has none.' }),
    type: t.String({ description: 'Such as `policy_set`.' }),
    action: t.String({ description: 'Such as `create`.' }),
    meta: t.Nullable(t.MapOf(t.Unknown())),
  }),
})
export type AuditEvent = t.Infer<typeof AuditEvent>

export const AuditEventPage = t.Named('AuditEventPage', {
  data: t.Array(AuditEvent),
  pagination: t.Object({
    current_page: t.Integer({ minimum: 1 }),
    prev_page: t.Nullable(t.Integer({ minimum: 1 })),
    next_page: t.Nullable(t.Integer({ minimum: 1 })),
    total_pages: t.Integer({ minimum: 0 }),
    total_count: t.Integer({ minimum: 0 }),
  }),
})
export type AuditEventPage = t.Infer<typeof AuditEventPage>

const TimeText = (description: string) => t.Optional(t.String({ description }))

export const auditTrailRoutes = routes('Audit trail', {
  listAuditTrail: list('/organizations/:organization_name/audit-trail', {
    summary: 'List the writes in an organization, the newest first.',
    query: {
      ...t.fieldsQuery('audit-trail-entries'),
      'filter[actor]': t.Optional(t.String({ description: 'The `actor-id`.' })),
      'filter[action]': t.Optional(t.String({ description: 'Such as `createProject`.' })),
      'filter[resource]': t.Optional(t.String({ description: 'An id or a name.' })),
      since: TimeText('Not before this time (RFC 3339).'),
      until: TimeText('Before this time (RFC 3339).'),
    },
    returns: AuditTrailPage,
    needs: 'Owners team, the organization token, or an audit trail token.',
  }),
  readAuditEvents: read('/organization/audit-trail', {
    summary:
      'List the successful writes in the organization of the token as plain JSON, newest first.',
    query: { ...t.pageQuery, since: TimeText('Not before this time (RFC 3339).') },
    answers: {
      200: { ...t.jsonResponse('One page.', AuditEventPage), contentType: 'application/json' },
    },
    errors: { 404: 'The token belongs to no organization.' },
    needs: 'The organization token, or an audit trail token.',
  }),
})
