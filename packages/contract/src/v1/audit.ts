import * as t from './shared-schemas.ts'
import { read, routes } from './define.ts'

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

export const AuditActor = t.Named('AuditActor', 'Author of a write.', {
  Type: t.Enum(AUDIT_ACTOR_TYPES, { description: '`disabled`: ACLs are off.' }),
  ID: t.String({ description: 'Accessor ID of a token of `/v1`, user id of `/api/v2`.' }),
  Name: t.String(),
  TokenID: t.String({ description: 'The token that was shown; never its secret.' }),
})
export type AuditActor = t.Infer<typeof AuditActor>

/**
 * Reported by the forwarding region and not verified: regions do not trust each other (decision
 * 0041).
 */
export const AuditVia = t.Object(
  {
    Region: t.String({ description: 'The region whose server says that it passed it on.' }),
    Address: t.String({
      description: 'Whom it says it did so for; empty for its part of a multi-region job.',
    }),
  },
  { $id: 'AuditVia', description: 'How a write came from another region, as that region says.' },
)
export type AuditVia = t.Infer<typeof AuditVia>

/** One write on either API, or a rejected attempt. */
export const AuditRecord = t.Object(
  {
    ID: t.String({ description: 'Sorts by time.' }),
    Time: t.Timestamp(),
    Actor: AuditActor,
    Address: t.String({ description: 'Where the connection came from.' }),
    Via: t.Optional(AuditVia),
    RequestID: t.String({ description: 'As in the header `X-Request-Id` of the answer.' }),
    Method: t.String(),
    Route: t.String({ description: 'The path of the contract, such as `/v1/job/:job_id`.' }),
    Action: t.String({ description: 'The operation id of the contract, such as `stopJob`.' }),
    Namespace: t.String({ description: 'Empty for what has no namespace.' }),
    OrganizationID: t.String({ description: '`org-…`; empty for what is in none.' }),
    Resources: t.Array(t.String(), { description: 'Objects written, by id or name.' }),
    Status: t.Integer({
      description: 'The HTTP status of the answer; 101 for a session inside a task.',
    }),
    Command: t.Optional(
      t.Array(t.String(), {
        description: 'Command of a session inside a task, with its arguments.',
      }),
    ),
  },
  { $id: 'AuditRecord', description: 'A write: its author, objects, time and source address.' },
)
export type AuditRecord = t.Infer<typeof AuditRecord>

export const auditRoutes = routes('Audit', {
  listAuditRecords: read('/audit', {
    summary: 'List the writes on both APIs, the newest first.',
    cost: 2,
    query: {
      actor: t.TextParameter('Only writes of this actor, by `Actor.ID`.'),
      action: t.TextParameter('Only this operation, such as `registerJob`.'),
      resource: t.TextParameter('Only writes of what has this id or name.'),
      organization: t.TextParameter('Only writes in the organization of this id, `org-…`.'),
      since: t.TextParameter('Not before this time (RFC 3339).'),
      until: t.TextParameter('Before this time (RFC 3339).'),
      per_page: t.Optional(
        t.Integer({ description: 'Records on one page; 0 means 100.', minimum: 0, default: 100 }),
      ),
      next_token: t.TextParameter(
        'Where the page starts: the header `X-Service-NextToken` of the one before.',
      ),
    },
    returns: t.jsonResponse(t.Array(AuditRecord), 'The records, the newest first.'),
    errors: { 400: 'A time or the size of the page cannot be read.' },
    needs: 'management',
  }),
})
