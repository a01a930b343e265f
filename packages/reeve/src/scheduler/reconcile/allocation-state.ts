import type {
  AllocationStateChange,
  ClientStatus,
  DisconnectStrategy,
  Job,
  TaskGroup,
} from '@reeve/contract'
import { isoFromMs, msFromNs } from '@reeve/kit/duration.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import {
  allocationIndex,
  type AllocationRow,
  isClientTerminal,
  isServerTerminal,
  type PublicNode,
} from '../../model/index.ts'

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

/** Sorts by name index, create index and ID: a total order. */
export function sortByNameIndex(rows: readonly AllocationRow[]): readonly AllocationRow[] {
  return rows
    .map((row) => ({ row, index: nameIndexOf(row) }))
    .toSorted(
      (a, b) =>
        a.index - b.index ||
        a.row.CreateIndex - b.row.CreateIndex ||
        compareText(a.row.ID, b.row.ID),
    )
    .map(({ row }) => row)
}

/** Groups rows by task group, keeping their order. */
export function rowsByGroup(
  rows: readonly AllocationRow[],
): ReadonlyMap<string, readonly AllocationRow[]> {
  const groups = new Map<string, AllocationRow[]>()
  for (const row of rows) {
    const group = groups.get(row.TaskGroup)
    if (group === undefined) groups.set(row.TaskGroup, [row])
    else group.push(row)
  }
  return groups
}

export function nameIndexOf(row: AllocationRow): number {
  return allocationIndex(row.Name)
}

/** True for allocations of an earlier version, or of an earlier job with the same ID. */
export function isFromOlderVersion(row: AllocationRow, job: Job): boolean {
  return row.CreateIndex < job.CreateIndex || row.JobVersion < job.Version
}

/** True for allocations of the current version that terminated without being stopped. */
export function exitedUnasked(row: AllocationRow, job: Job): boolean {
  return isClientTerminal(row) && !isServerTerminal(row) && !isFromOlderVersion(row, job)
}

export function isReplaced(row: AllocationRow): boolean {
  return row.NextAllocation !== undefined && row.NextAllocation !== ''
}

/** Values of `DesiredDescription`: why the servers stopped an allocation. */
export const STOP_DESCRIPTIONS = {
  jobStopped: 'allocation is not needed: its job was stopped',
  notNeeded: 'allocation is not needed after the job was updated',
  staleCanary: 'allocation is not needed: it is a canary of a deployment that was given up',
  migrating: 'allocation is being migrated',
  updating: 'allocation is being updated with its job',
  lost: (fate: string) => `allocation is lost: its node ${fate}`,
  unknown: (fate: string) => `allocation is unknown: its node ${fate}`,
  rescheduled: 'allocation was rescheduled because it failed',
  reconnected: 'allocation is not needed: the one that it stood in for is back',
  replacedWhileDisconnected:
    'allocation is not needed: another took its place while its node was disconnected',
  nodeUnfit: 'allocation is not needed: its node no longer takes the job',
  preempted: (winnerId: string) => `allocation was preempted by allocation ${winnerId}`,
} as const

/** Condition of a node, for the descriptions of lost and unknown allocations. */
export function nodeCondition(node: PublicNode | undefined): string {
  if (node === undefined) return 'is gone'
  const isConnected = node.Status !== 'down' && node.Status !== 'disconnected'
  return isConnected ? 'was disconnected for too long' : `is ${node.Status}`
}

/**
 * True if a node is unreachable or deleted, so that its agent cannot stop allocations. A draining
 * node is still reachable.
 */
export function isUnreachable(node: PublicNode | undefined): boolean {
  return node === undefined || node.Status === 'down' || node.Status === 'disconnected'
}

/**
 * True if the allocation is marked for migration. A draining node alone is not a reason: the
 * drainer marks allocations in order, and so does stopping a single allocation.
 */
export function isMarkedForMigration(row: AllocationRow): boolean {
  return row.DesiredTransition?.Migrate === true
}

/**
 * True if the allocation is stopped without a replacement: batch work at the drain deadline. It
 * still counts towards the group, so that the job does not run it again (choice 8).
 */
export function isReplacementDisabled(row: AllocationRow): boolean {
  return row.DesiredTransition?.MigrateDisablePlacement === true
}

/**
 * True if an allocation stopped without replacement no longer counts towards the group, because a
 * newer version of the batch job runs again.
 */
export function vacatesSlot(row: AllocationRow, job: Job): boolean {
  return isReplacementDisabled(row) && job.Type === 'batch' && isFromOlderVersion(row, job)
}

/** Minimum time that a disconnected agent takes to stop its tasks. */
const KILL_TIMEOUT_MIN_MS = 5_000

/**
 * Time that a lost allocation may still run, because its agent stops it only after
 * `stop_on_client_after`. It is not replaced earlier, so that it never runs twice.
 */
export function stopOnClientWaitMs({ Disconnect, Tasks }: TaskGroup): number | undefined {
  const stopAfterNs = Disconnect?.StopOnClientAfter ?? null
  if (stopAfterNs === null) return undefined
  const killTimeoutMs = Tasks.reduce(
    (longest, task) => Math.max(longest, msFromNs(task.KillTimeout)),
    0,
  )
  return msFromNs(stopAfterNs) + Math.max(KILL_TIMEOUT_MIN_MS, killTimeoutMs)
}

interface LostReplacementContext {
  readonly group: TaskGroup
  readonly nowMs: number
  /** IDs of the evaluations that are processed now. */
  readonly evaluationIds: ReadonlySet<string>
  /** True if an evaluation with a future `WaitUntil` is still pending. */
  readonly isPendingEvaluation: (evaluationId: string) => boolean
}

/**
 * Tells whether an allocation that was stopped as lost is still to be replaced: `wait` while its
 * agent may run it, `now` afterwards. Only allocations that had to wait, for their agent or for the
 * placement budget, have the loss in their state history.
 *
 * The follow-up evaluation marks the end of the wait. If the clock was set back it runs early, and
 * there is no later one. An allocation without a follow-up waited for the budget only.
 */
export function lostReplacement(
  row: AllocationRow,
  { group, nowMs, evaluationIds, isPendingEvaluation }: LostReplacementContext,
): 'wait' | 'now' | 'none' {
  const sinceMs = lostSinceMs(row)
  if (sinceMs === undefined || row.ClientStatus !== 'lost' || isReplaced(row)) return 'none'
  if (nowMs >= sinceMs + (stopOnClientWaitMs(group) ?? 0)) return 'now'
  const followUpId = row.FollowupEvalID ?? ''
  if (followUpId === '') return 'now'
  return evaluationIds.has(followUpId) || !isPendingEvaluation(followUpId) ? 'now' : 'wait'
}

/**
 * Effect of the connection of a node on an allocation:
 *
 * - `lost`: the allocation is lost
 * - `disconnecting`: it becomes unknown
 * - `unknown`: it stays unknown
 * - `here`: the node is connected
 */
type ConnectionState = 'lost' | 'disconnecting' | 'unknown' | 'here'

interface ConnectionContext {
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
