import type { TaskGroup } from '@reeve/contract'
import { isClientTerminal, type AllocationRow } from '../../model/index.ts'
import type { Rollout } from './rollout.ts'

export interface LimitContext {
  readonly group: TaskGroup
  readonly rollout: Rollout
  /** Whether the group is rolled out step by step at all. */
  readonly isDeployed: boolean
  /** Whether canaries wait to be promoted. */
  readonly isOnTrial: boolean
  /** Allocations that stay where they are. */
  readonly staying: readonly AllocationRow[]
}

/**
 * How many allocations may be replaced by the new version at once: `max_parallel`, less those of
 * the deployment that nobody has called healthy yet; none while one of them is unhealthy.
 */
export function updateLimit(context: LimitContext): number {
  const { group, rollout, isDeployed, isOnTrial, staying } = context
  if (!isDeployed) return Infinity
  if (rollout.isPaused || rollout.isFailed || isOnTrial) return 0
  const most = group.Update?.MaxParallel ?? 0
  const { current } = rollout
  if (current === undefined) return most
  let unsettled = 0
  for (const row of staying) {
    if (row.DeploymentID !== current.ID) continue
    const healthy = row.DeploymentStatus?.Healthy ?? null
    if (healthy === false || (healthy === null && isClientTerminal(row))) return 0
    if (healthy === null) unsettled += 1
  }
  return Math.max(0, most - unsettled)
}
