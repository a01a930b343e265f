import { v2, type AuditRecord } from '@reeve/contract'
import { findAuditSeat, type GovernanceContext } from '../../governance/index.ts'
import { err, type Result } from '@reeve/kit/result.ts'
import type { GovernanceRefusal } from '../../model/index.ts'
import { findAuditRecords } from '../../state/index.ts'
import type { AuditLog } from '../audit/audit-log.ts'
import { readTime } from '../audit/read-time.ts'
import { paged, windowOf } from './documents.ts'
import { endpoint, type V2Endpoint } from './endpoint.ts'

export interface AuditTrailHost {
  readonly context: GovernanceContext
  readonly audit: AuditLog
}

/** Who wrote what in an organization, for those who own it. */
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
  ]
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
