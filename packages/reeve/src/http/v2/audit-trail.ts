import { v2, type AuditRecord } from '@reeve/contract'
import { findAuditSeat, type GovernanceContext } from '../../governance/index.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { UNSEEN, type GovernanceRefusal } from '../../model/index.ts'
import { findAuditRecords } from '../../state/index.ts'
import type { AuditLog } from '../audit/audit-log.ts'
import { readTime } from '../audit/read-time.ts'
import { paged, windowOf } from './documents.ts'
import { endpoint, type Outcome, type V2Endpoint, type V2Request } from './endpoint.ts'

export interface AuditTrailHost {
  readonly context: GovernanceContext
  readonly audit: AuditLog
}

/** Returns the routes of an organization's audit trail, for its owners. */
export function auditTrailEndpoints({ context, audit }: AuditTrailHost): readonly V2Endpoint[] {
  return [
    endpoint(v2.v2Routes.listAuditTrail, async (request) => {
      const { caller, params, query } = request
      const organization = findAuditSeat(context, caller, params.organization_name)
      if (!organization.ok) return organization
      const since = timeOf('since', query.since)
      if (!since.ok) return since
      const until = timeOf('until', query.until)
      if (!until.ok) return until
      audit.flush()
      const { records, total } = await findAuditRecords(context.store, {
        organizationId: organization.value.id,
        actorId: query['filter[actor]'] || undefined,
        action: query['filter[action]'] || undefined,
        resource: query['filter[resource]'] || undefined,
        sinceMs: since.value,
        untilMs: until.value,
        ...windowOf(request.page),
        countAll: true,
        nextTurn: request.yieldTurn,
      })
      return paged(request, { items: records.map(entryResource), total })
    }),
    endpoint(v2.v2Routes.readAuditEvents, (request) => listEvents({ context, audit }, request)),
  ]
}

/**
 * Lists events in the format of audit collectors: the token determines the organization, and
 * rejected writes are omitted.
 */
async function listEvents(
  { context, audit }: AuditTrailHost,
  request: V2Request<typeof v2.v2Routes.readAuditEvents>,
): Promise<Outcome> {
  const { caller, page, query } = request
  if (caller.kind !== 'organization' && caller.kind !== 'audit-trails') return err(UNSEEN)
  const since = timeOf('since', query.since)
  if (!since.ok) return since
  audit.flush()
  const { records, total } = await findAuditRecords(context.store, {
    organizationId: caller.organizationId,
    succeeded: true,
    sinceMs: since.value,
    ...windowOf(page),
    countAll: true,
    nextTurn: request.yieldTurn,
  })
  const pages = Math.ceil(total / page.size)
  const body: v2.AuditEventPage = {
    data: records.map(eventOf),
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

function timeOf(
  parameter: string,
  text: string | undefined,
): Result<number | undefined, GovernanceRefusal> {
  const time = readTime(text)
  return time.ok
    ? time
    : err({ code: 'malformed', parameter, detail: `${parameter}: ${time.error}` })
}

/** Returns an event. Operation IDs are a verb and an object: `createPolicySet`. */
function eventOf(record: AuditRecord): v2.AuditEvent {
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
