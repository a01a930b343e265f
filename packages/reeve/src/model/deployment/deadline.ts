import type { Deployment, DeploymentGroupState } from '@reeve/contract'
import { isoFromMs, msFromNs, ZERO_TIME } from '../../kit/duration.ts'

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
 * The groups that must still make progress (scheduling reference §7): neither enough healthy
 * canaries that wait for somebody, nor enough healthy allocations. A paused deployment has none.
 */
export function progressDue(deployment: Deployment): readonly ProgressDue[] {
  if (deployment.Status === 'paused') return []
  return Object.entries(deployment.TaskGroups).flatMap(([group, state]) => {
    if (hasEnough(state) || state.RequireProgressBy === ZERO_TIME) return []
    return [{ group, dueMs: Date.parse(state.RequireProgressBy) }]
  })
}

/** Whether all of it is healthy, and nobody is waited for (scheduling reference §6.9). */
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
