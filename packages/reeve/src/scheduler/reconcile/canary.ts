import type { Deployment, DeploymentGroupState } from '@reeve/contract'
import { groupStateOf, isServerTerminal, type AllocationRow } from '../../model/index.ts'
import type { DeploymentState } from './rollout.ts'
import { nameIndexOf } from './row-order.ts'

export interface CanaryRows {
  /** Canaries of the active deployment, not yet promoted. */
  readonly active: readonly AllocationRow[]
  /** Canaries of failed or cancelled deployments; they are stopped. */
  readonly stale: readonly AllocationRow[]
  /** All other allocations, including promoted canaries. */
  readonly others: readonly AllocationRow[]
}

export interface SplitCanariesOptions {
  readonly rollout: DeploymentState
  readonly findDeployment: (id: string) => Deployment | undefined
}

export function splitCanaries(
  rows: readonly AllocationRow[],
  groupName: string,
  { rollout, findDeployment }: SplitCanariesOptions,
): CanaryRows {
  const active: AllocationRow[] = []
  const stale: AllocationRow[] = []
  const others: AllocationRow[] = []
  const { current, isFailed } = rollout
  for (const row of rows) {
    if (row.DeploymentStatus?.Canary !== true || isServerTerminal(row)) {
      others.push(row)
      continue
    }
    const isOfCurrent = current !== undefined && row.DeploymentID === current.ID
    const deployment = isOfCurrent ? current : findDeployment(row.DeploymentID ?? '')
    const state = groupStateOf(deployment, groupName)
    // Without its deployment record, a canary counts as a normal allocation.
    if (state === undefined || state.Promoted) others.push(row)
    else if (isOfCurrent && !isFailed) active.push(row)
    else stale.push(row)
  }
  return { active, stale, others }
}

/** True if the group has canaries that await promotion. */
export function requiresPromotion(state: DeploymentGroupState | undefined): boolean {
  return state !== undefined && state.DesiredCanaries > 0 && !state.Promoted
}

export interface CanaryIndexOptions {
  readonly wanted: number
  /** Allocations to replace; canaries take their name indexes. */
  readonly destructive: readonly AllocationRow[]
  /** Allocations that hold a name index. */
  readonly taken: readonly AllocationRow[]
  readonly canaries: readonly AllocationRow[]
  readonly count: number
}

/**
 * Name indexes for canaries: those of allocations to replace, then free ones, then those from the
 * count on.
 */
export function chooseCanaryIndexes(options: CanaryIndexOptions): readonly number[] {
  const { wanted, destructive, taken, canaries, count } = options
  if (wanted <= 0) return []
  const used = new Set(canaries.map(nameIndexOf))
  const indexes: number[] = []
  const claim = (index: number): void => {
    if (indexes.length >= wanted || used.has(index)) return
    used.add(index)
    indexes.push(index)
  }
  for (const row of destructive) claim(nameIndexOf(row))
  if (indexes.length === wanted) return indexes
  for (const row of taken) used.add(nameIndexOf(row))
  for (let index = 0; index < count + used.size + wanted; index++) claim(index)
  return indexes
}
