import { v1Routes } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { LIMITS, refusal, type Refusal } from '../../model/index.ts'
import { findAuditRecords } from '../../state/index.ts'
import type { WorkloadContext } from '../../workload/index.ts'
import { jsonItems } from '../answer.ts'
import type { AuditLog } from '../audit/audit-log.ts'
import { parseRfc3339 } from '../audit/read-time.ts'
import { read, type Endpoint, type WatchedRead, type V1Request } from './endpoint.ts'
import { management } from './requirements.ts'

const PER_PAGE_DEFAULT = 100

/** Returns the route of the audit log of both APIs, for administrators. */
export function auditEndpoints(context: WorkloadContext, audit: AuditLog): readonly Endpoint[] {
  return [
    read(v1Routes.listAuditRecords, management, (request) =>
      listAuditRecords(context, audit, request),
    ),
  ]
}

function listAuditRecords(
  { store }: WorkloadContext,
  audit: AuditLog,
  { query }: V1Request<typeof v1Routes.listAuditRecords>,
): Result<WatchedRead, Refusal> {
  const since = parseRfc3339(query.since)
  if (!since.ok) return err(refusal('invalid-input', `since: ${since.error}`))
  const until = parseRfc3339(query.until)
  if (!until.ok) return err(refusal('invalid-input', `until: ${until.error}`))
  const perPage = query.per_page || PER_PAGE_DEFAULT
  if (perPage < 0 || perPage > LIMITS.perPageMax)
    return err(refusal('invalid-input', `per_page must be between 0 and ${LIMITS.perPageMax}`))
  return ok({
    index: () => store.tables.audit_records.lastIndex,
    watch: [{ table: 'audit_records' }],
    respond: async (yieldTurn) => {
      audit.flush()
      const { records, nextKey } = await findAuditRecords(store, {
        actorId: query.actor || undefined,
        action: query.action || undefined,
        resource: query.resource || undefined,
        organizationId: query.organization || undefined,
        sinceMs: since.value,
        untilMs: until.value,
        fromKey: query.next_token || undefined,
        offset: 0,
        limit: perPage,
        countAll: false,
        yieldToEventLoop: yieldTurn,
      })
      const items = records.map((record) => JSON.stringify(record))
      return ok(jsonItems(items, nextKey))
    },
  })
}
