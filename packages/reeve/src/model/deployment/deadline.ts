import type { Deployment, DeploymentGroupState } from '@reeve/contract'
import { isoFromMs, msFromNs, ZERO_TIME } from '@reeve/kit/duration.ts'
import type { AllocationRow } from '../allocation/allocation-row.ts'
import { isTerminal } from '../allocation/terminal.ts'

/** Restarts the progress deadline of a group whose deadline is already running. */
export function resetProgressDeadline(
  state: DeploymentGroupState,
  timeMs: number,
): DeploymentGroupState {
  if (state.ProgressDeadline <= 0 || state.RequireProgressBy === ZERO_TIME) return state
  return { ...state, RequireProgressBy: isoFromMs(timeMs + msFromNs(state.ProgressDeadline)) }
}

/** A group with its effective progress deadline. */
export interface ProgressDeadline {
  readonly group: string
  readonly dueMs: number
}

/**
 * Returns the groups that must make progress: those with too few healthy canaries, or too few
 * healthy allocations. A paused deployment has none.
 *
 * The counters alone are not sufficient: they include a healthy allocation that was lost, besides
 * its replacement. So a group whose counters suffice still has a deadline while one of its live
 * allocations is not healthy: nothing else may be replaced meanwhile, and without a deadline the
 * deployment would never end.
 */
export function progressDeadlines(
  deployment: Deployment,
  findAllocations: () => readonly AllocationRow[],
): readonly ProgressDeadline[] {
  if (deployment.Status === 'paused') return []
  let rows: readonly AllocationRow[] | undefined
  return Object.entries(deployment.TaskGroups).flatMap(([group, state]) => {
    if (state.RequireProgressBy === ZERO_TIME) return []
    const dueMs = Date.parse(state.RequireProgressBy)
    if (!hasEnoughHealthy(state)) return [{ group, dueMs }]
    // Most complete groups have no other allocations, so the rows need not be read.
    if (state.PlacedAllocs <= state.HealthyAllocs) return []
    rows ??= findAllocations()
    const notHealthy = rows.filter((row) => isNotHealthyYet(row, deployment, group))
    if (notHealthy.length === 0) return []
    const sinceMs = notHealthy.map(notHealthySinceMs).reduce((a, b) => Math.max(a, b))
    return [{ group, dueMs: Math.max(dueMs, sinceMs + msFromNs(state.ProgressDeadline)) }]
  })
}

function isNotHealthyYet(row: AllocationRow, deployment: Deployment, group: string): boolean {
  if (row.DeploymentID !== deployment.ID || row.TaskGroup !== group) return false
  return !isTerminal(row) && row.DeploymentStatus?.Healthy !== true
}

/**
 * Returns the time since which an allocation is not healthy. Not its last change: a task that
 * restarts repeatedly would never reach the deadline.
 */
function notHealthySinceMs({ DeploymentStatus: status, CreateTime }: AllocationRow): number {
  const reportedMs = status?.Healthy === false ? Date.parse(status.Timestamp) : Number.NaN
  return Number.isFinite(reportedMs) ? reportedMs : msFromNs(CreateTime)
}

/** Reports whether all groups are promoted and have enough healthy allocations. */
export function isDeploymentHealthy({ TaskGroups }: Pick<Deployment, 'TaskGroups'>): boolean {
  return Object.values(TaskGroups).every((state) => {
    if (state.DesiredCanaries > 0 && !state.Promoted) return false
    return state.HealthyAllocs >= Math.max(state.DesiredTotal, state.DesiredCanaries)
  })
}

function hasEnoughHealthy(state: DeploymentGroupState): boolean {
  const isAwaitingPromotion = state.DesiredCanaries > 0 && !state.Promoted
  return state.HealthyAllocs >= (isAwaitingPromotion ? state.DesiredCanaries : state.DesiredTotal)
}
