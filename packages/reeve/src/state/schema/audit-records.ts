import type { AuditRecord } from '@reeve/contract'
import { auditTimeKey } from '../audit-entry.ts'
import { remove, type Change, type Store } from '../store.ts'

/** Number of records scanned before yielding to the event loop; takes about two milliseconds. */
const RECORDS_PER_BATCH = 5_000

interface AuditQuery {
  readonly actorId?: string | undefined
  readonly action?: string | undefined
  /** Matches an element of `Resources`. */
  readonly resource?: string | undefined
  readonly organizationId?: string | undefined
  /** Excludes rejected requests. */
  readonly succeeded?: boolean
  readonly sinceMs?: number | undefined
  /** Exclusive. */
  readonly untilMs?: number | undefined
  /** Key to start at; the newest record if undefined. */
  readonly fromKey?: string | undefined
  readonly offset: number
  readonly limit: number
  /** If false, the scan ends with the page and `total` is a lower bound. */
  readonly countAll: boolean
  readonly yieldToEventLoop: () => Promise<void>
}

interface AuditPage {
  readonly records: readonly AuditRecord[]
  /** Number of matches found; a lower bound unless `countAll` is set. */
  readonly total: number
  /** Key of the record after the last one; undefined at the end. */
  readonly nextKey: string | undefined
}

/**
 * Finds matching records, newest first. Records that do not match are skipped by their index keys
 * without decoding; long scans yield to the event loop.
 */
export async function findAuditRecords({ tables }: Store, query: AuditQuery): Promise<AuditPage> {
  const table = tables.audit_records
  const oldestKey = query.sinceMs === undefined ? '' : auditTimeKey(query.sinceMs)
  const pageEnd = query.offset + query.limit
  const keys: string[] = []
  let total = 0
  let nextKey: string | undefined
  let fromKey =
    query.fromKey ?? (query.untilMs === undefined ? undefined : auditTimeKey(query.untilMs))
  for (;;) {
    let scanned = 0
    let resumeKey: string | undefined
    for (const key of table.keys(fromKey, true)) {
      if (key < oldestKey) break
      if (scanned++ === RECORDS_PER_BATCH) {
        resumeKey = key
        break
      }
      if (!matches(table, key, query)) continue
      if (total >= query.offset && total < pageEnd) keys.push(key)
      if (total === pageEnd) nextKey = key
      total++
      if (nextKey !== undefined && !query.countAll) break
    }
    if (resumeKey === undefined) break
    fromKey = resumeKey
    await query.yieldToEventLoop()
  }
  // Ignore records that expired during the scan.
  const records = keys.flatMap((key) => table.find(key) ?? [])
  return { records, total, nextKey }
}

/** Lowest HTTP status of a failed request. */
const ERROR_STATUS_MIN = 400

type AuditTable = Store['tables']['audit_records']

function matches(table: AuditTable, key: string, query: AuditQuery): boolean {
  const { actorId, action, organizationId, resource, succeeded = false, untilMs } = query
  if (untilMs !== undefined && key >= auditTimeKey(untilMs)) return false
  if (organizationId !== undefined && table.indexKeyOf('organization', key) !== organizationId)
    return false
  if (actorId !== undefined && table.indexKeyOf('actor', key) !== actorId) return false
  if (action !== undefined && table.indexKeyOf('action', key) !== action) return false
  if (succeeded && table.get(key).Status >= ERROR_STATUS_MIN) return false
  if (resource === undefined) return true
  // Search the JSON before decoding it: most records do not contain the ID.
  if (table.rowJsonOf(key)?.includes(JSON.stringify(resource)) !== true) return false
  return table.get(key).Resources.includes(resource)
}

/** Maximum number of records deleted by one commit. */
const EXPIRED_PER_COMMIT_MAX = 1_000

export interface AuditLimits {
  readonly ageMsMax: number
  readonly recordsMax: number
}

/**
 * Deletes of the next expired records, oldest first: records beyond the retention period or beyond
 * the maximum number.
 */
export function expiredAuditRecords(
  { tables }: Store,
  nowMs: number,
  { ageMsMax, recordsMax }: AuditLimits,
): readonly Change[] {
  const { audit_records: table } = tables
  const oldestKeptKey = auditTimeKey(nowMs - ageMsMax)
  const surplusCount = table.size - recordsMax
  const changes: Change[] = []
  for (const key of table.keys()) {
    if (changes.length === EXPIRED_PER_COMMIT_MAX) break
    if (key >= oldestKeptKey && changes.length >= surplusCount) break
    changes.push(remove('audit_records', key))
  }
  return changes
}
