import type { TaskGroup } from '@reeve/contract'
import { isClientTerminal, type AllocationRow } from '../../model/index.ts'
import type { DeploymentState } from './rollout.ts'

export interface UpdateLimitOptions {
  readonly group: TaskGroup
  readonly rollout: DeploymentState
  /** Whether the group uses deployments. */
  readonly usesDeployments: boolean
  /** Whether canaries await promotion. */
  readonly hasUnpromotedCanaries: boolean
  /** Allocations that stay on their node. */
  readonly staying: readonly AllocationRow[]
}

/**
 * Number of allocations that may be updated now: `max_parallel` less those of the deployment
 * without a health result; none while one is unhealthy.
 */
export function updateLimit(context: UpdateLimitOptions): number {
  const { group, rollout, usesDeployments, hasUnpromotedCanaries, staying } = context
  if (!usesDeployments) return Infinity
  if (rollout.isPaused || rollout.isFailed || hasUnpromotedCanaries) return 0
  const maxParallel = group.Update?.MaxParallel ?? 0
  const { current } = rollout
  if (current === undefined) return maxParallel
  let undecidedCount = 0
  for (const row of staying) {
    if (row.DeploymentID !== current.ID) continue
    const healthy = row.DeploymentStatus?.Healthy ?? null
    if (healthy === false || (healthy === null && isClientTerminal(row))) return 0
    if (healthy === null) undecidedCount += 1
  }
  return Math.max(0, maxParallel - undecidedCount)
}
