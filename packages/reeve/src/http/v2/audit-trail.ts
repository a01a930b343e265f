import { v2, type AuditRecord } from '@reeve/contract'
import { findAuditableOrganization, type GovernanceContext } from '../../governance/index.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { NOT_FOUND, type GovernanceRefusal } from '../../model/index.ts'
import { findAuditRecords } from '../../state/index.ts'
import { type AuditLog, parseRfc3339 } from '../../audit/index.ts'
import { pageDocument, offsetAndLimit } from './documents.ts'
import { endpoint, type JsonApiResult, type V2Endpoint, type V2Request } from './endpoint.ts'

interface AuditTrailDeps {
  readonly context: GovernanceContext
  readonly audit: AuditLog
}

/** Returns the routes of an organization's audit trail, for its owners. */
export function auditTrailEndpoints({ context, audit }: AuditTrailDeps): readonly V2Endpoint[] {
  return [
    endpoint(v2.v2Routes.listAuditTrail, async (request) => {
      const { caller, params, query } = request
      const organization = findAuditableOrganization(context, caller, params.organization_name)
      if (!organization.ok) return organization
      const since = parseTime('since', query.since)
      if (!since.ok) return since
      const until = parseTime('until', query.until)
      if (!until.ok) return until
      audit.flush()
      const { records, total } = await findAuditRecords(context.store, {
        organizationId: organization.value.id,
        actorId: query['filter[actor]'] || undefined,
        action: query['filter[action]'] || undefined,
        resource: query['filter[resource]'] || undefined,
        sinceMs: since.value,
        untilMs: until.value,
        ...offsetAndLimit(request.page),
        countAll: true,
        yieldToEventLoop: request.yieldTurn,
      })
      return pageDocument(request, { items: records.map(entryResource), total })
    }),
    endpoint(v2.v2Routes.readAuditEvents, (request) => listEvents({ context, audit }, request)),
  ]
}

/**
 * Lists events in the format of audit collectors: the token determines the organization, and
 * rejected writes are omitted.
 */
async function listEvents(
  { context, audit }: AuditTrailDeps,
  request: V2Request<typeof v2.v2Routes.readAuditEvents>,
): Promise<JsonApiResult> {
  const { caller, page, query } = request
  if (caller.kind !== 'organization' && caller.kind !== 'audit-trails') return err(NOT_FOUND)
  const since = parseTime('since', query.since)
  if (!since.ok) return since
  audit.flush()
  const { records, total } = await findAuditRecords(context.store, {
    organizationId: caller.organizationId,
    succeeded: true,
    sinceMs: since.value,
    ...offsetAndLimit(page),
    countAll: true,
    yieldToEventLoop: request.yieldTurn,
  })
  const pages = Math.ceil(total / page.size)
  const body: v2.AuditEventPage = {
    data: records.map(toAuditEvent),
    pagination: {
      current_page: page.number,
      prev_page: page.number > 1 && page.number <= pages ? page.number - 1 : null,
      next_page: page.number < pages ? page.number + 1 : null,
      total_pages: pages,
      total_count: total,
    },
  }
  return ok({
    kind: 'bytes',
    status: 200,
    bytes: Buffer.from(JSON.stringify(body)),
    headers: { 'content-type': 'application/json' },
  })
}

function parseTime(
  parameter: string,
  text: string | undefined,
): Result<number | undefined, GovernanceRefusal> {
  const time = parseRfc3339(text)
  return time.ok
    ? time
    : err({ code: 'malformed', parameter, detail: `${parameter}: ${time.error}` })
}

/** Returns an event. Operation IDs are a verb and an object: `createPolicySet`. */
function toAuditEvent(record: AuditRecord): v2.AuditEvent {
  const { Actor, Action } = record
  const [verb = Action] = /^[a-z]+/.exec(Action) ?? []
  const noun = Action.slice(verb.length).replaceAll(/(?<=.)[A-Z]/g, (letter) => `_${letter}`)
  return {
    id: record.ID,
    version: '0',
    type: 'Resource',
    timestamp: record.Time,
    auth: {
      accessor_id: Actor.ID,
      description: Actor.Name,
      type: Actor.Type === 'disabled' ? 'System' : 'Client',
      impersonator_id: null,
      organization_id: record.OrganizationID,
    },
    request: { id: record.RequestID },
    resource: {
      id: record.Resources.at(-1) ?? '',
      type: noun.toLowerCase(),
      action: verb,
      meta: null,
    },
  }
}

function entryResource(record: AuditRecord): v2.AuditTrailEntry {
  const { Actor } = record
  return {
    id: record.ID,
    type: 'audit-trail-entries',
    attributes: {
      timestamp: record.Time,
      'actor-type': Actor.Type,
      'actor-id': Actor.ID,
      'actor-name': Actor.Name,
      'token-id': Actor.TokenID,
      address: record.Address,
      'request-id': record.RequestID,
      method: record.Method,
      route: record.Route,
      action: record.Action,
      resources: record.Resources,
      status: record.Status,
    },
  }
}
