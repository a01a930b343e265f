import type { Deployment, DeploymentGroupState } from '@reeve/contract'
import { isoFromMs, msFromNs, ZERO_TIME } from '@reeve/kit/duration.ts'
import type { AllocationRow } from '../allocation/allocation-row.ts'
import { isTerminal } from '../allocation/terminal.ts'

/** A group whose time has begun gets all of it again. */
export function withFreshDeadline(
  state: DeploymentGroupState,
  timeMs: number,
): DeploymentGroupState {
  if (state.ProgressDeadline <= 0 || state.RequireProgressBy === ZERO_TIME) return state
  return { ...state, RequireProgressBy: isoFromMs(timeMs + msFromNs(state.ProgressDeadline)) }
}

/** One group, and when it must have made progress. */
export interface ProgressDue {
  readonly group: string
  readonly dueMs: number
}

/**
 * The groups that must still make progress: neither enough healthy canaries that wait for somebody,
 * nor enough healthy allocations. A paused deployment has none.
 *
 * The counters alone do not say that there are enough: one that was healthy and has gone is in them
 * still, beside the one that replaced it. So a group whose counters suffice is waited for as long
 * as one of its allocations lives and is not healthy: nothing else may be replaced then, and
 * without a deadline nothing would ever end it.
 */
export function progressDue(
  deployment: Deployment,
  findAllocations: () => readonly AllocationRow[],
): readonly ProgressDue[] {
  if (deployment.Status === 'paused') return []
  let rows: readonly AllocationRow[] | undefined
  return Object.entries(deployment.TaskGroups).flatMap(([group, state]) => {
    if (state.RequireProgressBy === ZERO_TIME) return []
    const dueMs = Date.parse(state.RequireProgressBy)
    if (!hasEnough(state)) return [{ group, dueMs }]
    // Most groups that have enough have no other: their allocations need not be looked at.
    if (state.PlacedAllocs <= state.HealthyAllocs) return []
    rows ??= findAllocations()
    const waiting = rows.filter((row) => isWaitedFor(row, deployment, group))
    if (waiting.length === 0) return []
    const sinceMs = waiting.map(notHealthySinceMs).reduce((a, b) => Math.max(a, b))
    return [{ group, dueMs: Math.max(dueMs, sinceMs + msFromNs(state.ProgressDeadline)) }]
  })
}

function isWaitedFor(row: AllocationRow, deployment: Deployment, group: string): boolean {
  if (row.DeploymentID !== deployment.ID || row.TaskGroup !== group) return false
  return !isTerminal(row) && row.DeploymentStatus?.Healthy !== true
}

/** Not its latest change: a task that starts again and again would have time for ever. */
function notHealthySinceMs({ DeploymentStatus: status, CreateTime }: AllocationRow): number {
  const judgedMs = status?.Healthy === false ? Date.parse(status.Timestamp) : Number.NaN
  return Number.isFinite(judgedMs) ? judgedMs : msFromNs(CreateTime)
}

/** Whether all of it is healthy, and nobody is waited for. */
export function isRolledOut({ TaskGroups }: Pick<Deployment, 'TaskGroups'>): boolean {
  return Object.values(TaskGroups).every((state) => {
    if (state.DesiredCanaries > 0 && !state.Promoted) return false
    return state.HealthyAllocs >= Math.max(state.DesiredTotal, state.DesiredCanaries)
  })
}

function hasEnough(state: DeploymentGroupState): boolean {
  const isOnTrial = state.DesiredCanaries > 0 && !state.Promoted
  return state.HealthyAllocs >= (isOnTrial ? state.DesiredCanaries : state.DesiredTotal)
}
