import { Type } from 'typebox'
import { routes } from '../route.ts'
import { list } from './define.ts'
import { Timestamp, type Shape } from '../shape.ts'
import { AUDIT_ACTOR_TYPES } from '../v1/audit.ts'
import { OneOf, PageOf, ResourceWithId } from './json-api.ts'
import { fieldsQuery } from './query.ts'

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
    resources: Type.Array(Type.String(), { description: 'What was written, by id or name.' }),
    status: Type.Integer({ description: 'The HTTP status of the answer.' }),
  }),
})
export type AuditTrailEntry = Shape<typeof AuditTrailEntry>

export const AuditTrailPage = PageOf(AuditTrailEntry, 'AuditTrailPage')

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
})
