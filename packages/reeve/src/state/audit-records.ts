import type { AuditRecord } from '@reeve/contract'
import { auditTimeKey } from './audit-entry.ts'
import { remove, type Change, type Store } from './store.ts'

/** Records looked at before others get their turn: about two milliseconds. */
const RECORDS_PER_SLICE = 5_000

export interface AuditWish {
  readonly actorId?: string | undefined
  readonly action?: string | undefined
  /** One of `Resources`. */
  readonly resource?: string | undefined
  readonly organizationId?: string | undefined
  /** Without the refusals. */
  readonly succeeded?: boolean
  readonly sinceMs?: number | undefined
  /** Exclusive. */
  readonly untilMs?: number | undefined
  /** Begin at this key; the newest unless given. */
  readonly from?: string | undefined
  readonly skip: number
  readonly take: number
  /** Without it the walk ends with the page. */
  readonly countAll: boolean
  readonly nextTurn: () => Promise<void>
}

export interface AuditPart {
  readonly records: readonly AuditRecord[]
  /** What matches; as far as the walk went. */
  readonly total: number
  /** Key of the record after the last one; undefined at the end. */
  readonly next: string | undefined
}

/**
 * Records that match, the newest first. Rows that do not match are passed over by their index
 * groups alone; a long walk gives others their turn.
 */
export async function findAuditRecords({ tables }: Store, wish: AuditWish): Promise<AuditPart> {
  const table = tables.audit_records
  const end = wish.sinceMs === undefined ? '' : auditTimeKey(wish.sinceMs)
  const last = wish.skip + wish.take
  const keys: string[] = []
  let total = 0
  let next: string | undefined
  let from = wish.from ?? (wish.untilMs === undefined ? undefined : auditTimeKey(wish.untilMs))
  for (;;) {
    let seen = 0
    let resume: string | undefined
    for (const key of table.keys(from, true)) {
      if (key < end) break
      if (seen++ === RECORDS_PER_SLICE) {
        resume = key
        break
      }
      if (!matches(table, key, wish)) continue
      if (total >= wish.skip && total < last) keys.push(key)
      if (total === last) next = key
      total++
      if (next !== undefined && !wish.countAll) break
    }
    if (resume === undefined) break
    from = resume
    await wish.nextTurn()
  }
  // One that was removed during the walk is too old to be missed.
  const records = keys.flatMap((key) => table.find(key) ?? [])
  return { records, total, next }
}

/** HTTP statuses from here on are refusals. */
const STATUS_ERROR_MIN = 400

type AuditTable = Store['tables']['audit_records']

function matches(table: AuditTable, key: string, wish: AuditWish): boolean {
  const { actorId, action, organizationId, resource, succeeded = false, untilMs } = wish
  if (untilMs !== undefined && key >= auditTimeKey(untilMs)) return false
  if (organizationId !== undefined && table.groupOf('organization', key) !== organizationId)
    return false
  if (actorId !== undefined && table.groupOf('actor', key) !== actorId) return false
  if (action !== undefined && table.groupOf('action', key) !== action) return false
  if (succeeded && table.get(key).Status >= STATUS_ERROR_MIN) return false
  if (resource === undefined) return true
  // The text is looked at before it is decoded: most records do not hold it at all.
  if (table.bodyOf(key)?.includes(JSON.stringify(resource)) !== true) return false
  return table.get(key).Resources.includes(resource)
}

/** What the collector takes in one commit. */
const REMOVED_PER_COMMIT = 1_000

export interface AuditLimits {
  readonly ageMsMax: number
  readonly recordsMax: number
}

/** The next records to remove, the oldest first: those too old, and those beyond the cap. */
export function expiredAuditRecords(
  { tables }: Store,
  nowMs: number,
  { ageMsMax, recordsMax }: AuditLimits,
): readonly Change[] {
  const { audit_records: table } = tables
  const keepFrom = auditTimeKey(nowMs - ageMsMax)
  const beyond = table.size - recordsMax
  const changes: Change[] = []
  for (const key of table.keys()) {
    if (changes.length === REMOVED_PER_COMMIT) break
    if (key >= keepFrom && changes.length >= beyond) break
    changes.push(remove('audit_records', key))
  }
  return changes
}
