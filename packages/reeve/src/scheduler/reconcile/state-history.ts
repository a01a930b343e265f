import type { AllocationStateChange, ClientStatus } from '@reeve/contract'
import { isoFromMs } from '@reeve/kit/duration.ts'
import type { AllocationRow } from '../../model/index.ts'

const STATUS_FIELD = 'ClientStatus'
/** History limit: keeps allocations on flapping nodes small. */
const STATE_CHANGES_MAX = 10

/**
 * Appends a status that the servers set on behalf of the node (`AllocStates`): unknown, reconnected
 * or lost.
 */
export function appendClientStatus(
  row: AllocationRow,
  status: ClientStatus,
  nowMs: number,
): Pick<AllocationRow, 'AllocStates'> {
  const change: AllocationStateChange = {
    Field: STATUS_FIELD,
    Value: status,
    Time: isoFromMs(nowMs),
  }
  return { AllocStates: [...(row.AllocStates ?? []), change].slice(-STATE_CHANGES_MAX) }
}

/** Time since which the allocation is unknown; undefined if its last recorded status is another. */
export function unknownSinceMs(row: AllocationRow): number | undefined {
  return statusSinceMs(row, 'unknown')
}

export function lostSinceMs(row: AllocationRow): number | undefined {
  return statusSinceMs(row, 'lost')
}

function statusSinceMs(row: AllocationRow, status: ClientStatus): number | undefined {
  const last = row.AllocStates?.findLast((change) => change.Field === STATUS_FIELD)
  if (last?.Value !== status) return undefined
  const ms = Date.parse(last.Time)
  return Number.isFinite(ms) ? ms : undefined
}
