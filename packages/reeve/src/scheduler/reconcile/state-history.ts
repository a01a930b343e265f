import type { AllocationStateChange, ClientStatus } from '@reeve/contract'
import { isoFromMs } from '@reeve/kit/duration.ts'
import type { AllocationRow } from '../../model/index.ts'

const FIELD = 'ClientStatus'
/** A node that comes and goes all day must not grow its allocations: the oldest entries go. */
const CHANGES_KEPT = 10

/**
 * What the servers wrote about an allocation's status on behalf of its node (`AllocStates`): that
 * it became unknown, that it came back, that it was lost.
 */
export function withStatus(
  row: AllocationRow,
  status: ClientStatus,
  nowMs: number,
): Pick<AllocationRow, 'AllocStates'> {
  const change: AllocationStateChange = { Field: FIELD, Value: status, Time: isoFromMs(nowMs) }
  return { AllocStates: [...(row.AllocStates ?? []), change].slice(-CHANGES_KEPT) }
}

/** Since when it is unknown; undefined when the last thing written is something else. */
export function unknownSinceMs(row: AllocationRow): number | undefined {
  return sinceMs(row, 'unknown')
}

export function lostSinceMs(row: AllocationRow): number | undefined {
  return sinceMs(row, 'lost')
}

function sinceMs(row: AllocationRow, status: ClientStatus): number | undefined {
  const last = row.AllocStates?.findLast((change) => change.Field === FIELD)
  if (last?.Value !== status) return undefined
  const ms = Date.parse(last.Time)
  return Number.isFinite(ms) ? ms : undefined
}
