import type { DisconnectStrategy, TaskGroup } from '@reeve/contract'
import { msFromNs } from '@reeve/kit/duration.ts'
import { isServerTerminal, type AllocationRow, type PublicNode } from '../../model/index.ts'
import { unknownSinceMs } from './state-history.ts'

/**
 * What becomes of an allocation whose node is silent:
 *
 * - `lost`: nobody waits for it
 * - `disconnecting`: it becomes unknown
 * - `unknown`: it is unknown and stays so
 * - `here`: its node is not silent at all
 */
export type Contact = 'lost' | 'disconnecting' | 'unknown' | 'here'

export interface ContactContext {
  readonly disconnect: DisconnectStrategy | null
  readonly node: PublicNode | undefined
  readonly nowMs: number
}

export function contactWith(row: AllocationRow, context: ContactContext): Contact {
  const { node, disconnect } = context
  if (node === undefined) return 'lost'
  if (row.ClientStatus === 'unknown') return isExpired(row, context) ? 'lost' : ofUnknown(context)
  const waits = row.ClientStatus === 'running' && (disconnect?.LostAfter ?? 0) > 0
  if (node.Status === 'disconnected') return waits ? 'disconnecting' : 'lost'
  if (node.Status !== 'down') return 'here'
  return row.ClientStatus === 'running' && disconnect?.Replace === false ? 'disconnecting' : 'lost'
}

/** Until its node has said how it is, it stays unknown, also when the node is back. */
function ofUnknown({ node, disconnect }: ContactContext): Contact {
  return node?.Status === 'down' && disconnect?.Replace !== false ? 'lost' : 'unknown'
}

function isExpired(row: AllocationRow, { disconnect, nowMs }: ContactContext): boolean {
  const sinceMs = unknownSinceMs(row)
  const lostAfterNs = disconnect?.LostAfter ?? 0
  if (sinceMs === undefined || lostAfterNs <= 0) return false
  const lostAfterMs = msFromNs(lostAfterNs)
  // So far ahead, the time was written by a clock that was: nobody knows how long it has been.
  return nowMs >= sinceMs + lostAfterMs || sinceMs > nowMs + lostAfterMs
}

/** When an allocation that becomes unknown now is given up; undefined: never. */
export function lostAtMs({ Disconnect }: TaskGroup, nowMs: number): number | undefined {
  const lostAfterNs = Disconnect?.LostAfter ?? 0
  return lostAfterNs > 0 ? nowMs + msFromNs(lostAfterNs) : undefined
}

/**
 * Until when its node may be silent and the allocation still come back; undefined: not at all, or
 * no longer.
 */
export function mayReturnUntilMs(
  row: AllocationRow,
  group: TaskGroup,
  nowMs: number,
): number | undefined {
  if (isServerTerminal(row)) return undefined
  const isUnknown = row.ClientStatus === 'unknown'
  if (!isUnknown && row.ClientStatus !== 'running') return undefined
  if (isUnknown && isExpired(row, { disconnect: group.Disconnect, node: undefined, nowMs }))
    return undefined
  return lostAtMs(group, isUnknown ? (unknownSinceMs(row) ?? nowMs) : nowMs)
}

/** It was unknown, and its node has since said how it is. */
export function hasReturned(row: AllocationRow): boolean {
  return row.ClientStatus !== 'unknown' && unknownSinceMs(row) !== undefined
}
