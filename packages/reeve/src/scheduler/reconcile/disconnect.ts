import type { DisconnectStrategy, TaskGroup } from '@reeve/contract'
import { msFromNs } from '@reeve/kit/duration.ts'
import { isServerTerminal, type AllocationRow, type PublicNode } from '../../model/index.ts'
import { unknownSinceMs } from './state-history.ts'

/**
 * Effect of the connection of a node on an allocation:
 *
 * - `lost`: the allocation is lost
 * - `disconnecting`: it becomes unknown
 * - `unknown`: it stays unknown
 * - `here`: the node is connected
 */
export type ConnectionState = 'lost' | 'disconnecting' | 'unknown' | 'here'

export interface ConnectionContext {
  readonly disconnect: DisconnectStrategy | null
  readonly node: PublicNode | undefined
  readonly nowMs: number
}

export function connectionState(row: AllocationRow, context: ConnectionContext): ConnectionState {
  const { node, disconnect } = context
  if (node === undefined) return 'lost'
  if (row.ClientStatus === 'unknown')
    return isLostAfterExpired(row, context) ? 'lost' : connectionOfUnknown(context)
  const mayReconnect = row.ClientStatus === 'running' && (disconnect?.LostAfter ?? 0) > 0
  if (node.Status === 'disconnected') return mayReconnect ? 'disconnecting' : 'lost'
  if (node.Status !== 'down') return 'here'
  return row.ClientStatus === 'running' && disconnect?.Replace === false ? 'disconnecting' : 'lost'
}

/** An unknown allocation stays unknown until its node reports it, even if the node is back. */
function connectionOfUnknown({ node, disconnect }: ConnectionContext): ConnectionState {
  return node?.Status === 'down' && disconnect?.Replace !== false ? 'lost' : 'unknown'
}

function isLostAfterExpired(row: AllocationRow, { disconnect, nowMs }: ConnectionContext): boolean {
  const sinceMs = unknownSinceMs(row)
  const lostAfterNs = disconnect?.LostAfter ?? 0
  if (sinceMs === undefined || lostAfterNs <= 0) return false
  const lostAfterMs = msFromNs(lostAfterNs)
  // A time this far in the future was written by a wrong clock; the duration is unknown.
  return nowMs >= sinceMs + lostAfterMs || sinceMs > nowMs + lostAfterMs
}

/** Time at which an allocation that becomes unknown now is lost; undefined: never. */
export function lostDeadlineMs({ Disconnect }: TaskGroup, nowMs: number): number | undefined {
  const lostAfterNs = Disconnect?.LostAfter ?? 0
  return lostAfterNs > 0 ? nowMs + msFromNs(lostAfterNs) : undefined
}

/**
 * Time until which the allocation may reconnect with its node; undefined if it cannot, or can no
 * longer.
 */
export function reconnectDeadlineMs(
  row: AllocationRow,
  group: TaskGroup,
  nowMs: number,
): number | undefined {
  if (isServerTerminal(row)) return undefined
  const isUnknown = row.ClientStatus === 'unknown'
  if (!isUnknown && row.ClientStatus !== 'running') return undefined
  if (
    isUnknown &&
    isLostAfterExpired(row, { disconnect: group.Disconnect, node: undefined, nowMs })
  )
    return undefined
  return lostDeadlineMs(group, isUnknown ? (unknownSinceMs(row) ?? nowMs) : nowMs)
}

/** True if the allocation was unknown and its node has reported it since. */
export function isReconnecting(row: AllocationRow): boolean {
  return row.ClientStatus !== 'unknown' && unknownSinceMs(row) !== undefined
}
