import { Type } from 'typebox'
import { routes } from '../route.ts'
import { read } from './define.ts'
import { Named, Timestamp, type Infer } from '../schema.ts'
import { jsonResponse } from './shared-schemas.ts'
import { TextParameter } from './query.ts'

/** Kinds of authors: a token of `/v1`, or a caller of `/api/v2`. */
export const AUDIT_ACTOR_TYPES = [
  'management',
  'client',
  'anonymous',
  'disabled',
  'user',
  'team',
  'organization',
] as const

export const AuditActor = Named('AuditActor', 'Author of a write.', {
  Type: Type.Enum(AUDIT_ACTOR_TYPES, { description: '`disabled`: ACLs are off.' }),
  ID: Type.String({ description: 'Accessor ID of a token of `/v1`, user id of `/api/v2`.' }),
  Name: Type.String(),
  TokenID: Type.String({ description: 'The token that was shown; never its secret.' }),
})
export type AuditActor = Infer<typeof AuditActor>

/**
 * Reported by the forwarding region and not verified: regions do not trust each other (decision
 * 0041).
 */
export const AuditVia = Type.Object(
  {
    Region: Type.String({ description: 'The region whose server says that it passed it on.' }),
    Address: Type.String({
      description: 'Whom it says it did so for; empty for its part of a multi-region job.',
    }),
  },
  { $id: 'AuditVia', description: 'How a write came from another region, as that region says.' },
)
export type AuditVia = Infer<typeof AuditVia>

/** One write on either API, or a rejected attempt. */
export const AuditRecord = Type.Object(
  {
    ID: Type.String({ description: 'Sorts by time.' }),
    Time: Timestamp(),
    Actor: AuditActor,
    Address: Type.String({ description: 'Where the connection came from.' }),
    Via: Type.Optional(AuditVia),
    RequestID: Type.String({ description: 'As in the header `X-Request-Id` of the answer.' }),
    Method: Type.String(),
    Route: Type.String({ description: 'The path of the contract, such as `/v1/job/:job_id`.' }),
    Action: Type.String({ description: 'The operation id of the contract, such as `stopJob`.' }),
    Namespace: Type.String({ description: 'Empty for what has no namespace.' }),
    OrganizationID: Type.String({ description: '`org-…`; empty for what is in none.' }),
    Resources: Type.Array(Type.String(), { description: 'Objects written, by id or name.' }),
    Status: Type.Integer({
      description: 'The HTTP status of the answer; 101 for a session inside a task.',
    }),
    Command: Type.Optional(
      Type.Array(Type.String(), {
        description: 'Command of a session inside a task, with its arguments.',
      }),
    ),
  },
  { $id: 'AuditRecord', description: 'A write: its author, objects, time and source address.' },
)
export type AuditRecord = Infer<typeof AuditRecord>

export const auditRoutes = routes('Audit', {
  listAuditRecords: read('/audit', {
    summary: 'List the writes on both APIs, the newest first.',
    cost: 2,
    query: {
      actor: TextParameter('Only writes of this actor, by `Actor.ID`.'),
      action: TextParameter('Only this operation, such as `registerJob`.'),
      resource: TextParameter('Only writes of what has this id or name.'),
      organization: TextParameter('Only writes in the organization of this id, `org-…`.'),
      since: TextParameter('Not before this time (RFC 3339).'),
      until: TextParameter('Before this time (RFC 3339).'),
      per_page: Type.Optional(
        Type.Integer({
          description: 'Records on one page; 0 means 100.',
          minimum: 0,
          default: 100,
        }),
      ),
      next_token: TextParameter(
        'Where the page starts: the header `X-Service-NextToken` of the one before.',
      ),
    },
    returns: jsonResponse(Type.Array(AuditRecord), 'The records, the newest first.'),
    errors: { 400: 'A time or the size of the page cannot be read.' },
    needs: 'management',
  }),
})
