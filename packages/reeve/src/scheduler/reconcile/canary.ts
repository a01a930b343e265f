import type { Deployment, DeploymentGroupState } from '@reeve/contract'
import { groupStateOf, isServerTerminal, type AllocationRow } from '../../model/index.ts'
import type { Rollout } from './rollout.ts'
import { indexOf } from './row-order.ts'

export interface CanaryRows {
  /** Canaries of the trial that is under way. */
  readonly trial: readonly AllocationRow[]
  /** Canaries of a trial that was given up: they go. */
  readonly unneeded: readonly AllocationRow[]
  /** All others; promoted canaries are allocations like any other. */
  readonly others: readonly AllocationRow[]
}

export interface CanaryContext {
  readonly rollout: Rollout
  readonly findDeployment: (id: string) => Deployment | undefined
}

export function splitCanaries(
  rows: readonly AllocationRow[],
  groupName: string,
  { rollout, findDeployment }: CanaryContext,
): CanaryRows {
  const trial: AllocationRow[] = []
  const unneeded: AllocationRow[] = []
  const others: AllocationRow[] = []
  const { current, isFailed } = rollout
  for (const row of rows) {
    if (row.DeploymentStatus?.Canary !== true || isServerTerminal(row)) {
      others.push(row)
      continue
    }
    const isOwn = current !== undefined && row.DeploymentID === current.ID
    const deployment = isOwn ? current : findDeployment(row.DeploymentID ?? '')
    const state = groupStateOf(deployment, groupName)
    // Of a deployment that nobody keeps any more, nobody can say what it was a trial of.
    if (state === undefined || state.Promoted) others.push(row)
    else if (isOwn && !isFailed) trial.push(row)
    else unneeded.push(row)
  }
  return { trial, unneeded, others }
}

/** Whether the group tries out a version that nobody has promoted yet. */
export function isOnTrial(state: DeploymentGroupState | undefined): boolean {
  return state !== undefined && state.DesiredCanaries > 0 && !state.Promoted
}

export interface CanaryNames {
  readonly wanted: number
  /** What the new version will replace: a canary takes the name of its predecessor to be. */
  readonly destructive: readonly AllocationRow[]
  /** Every index in use, those of canaries included. */
  readonly taken: readonly AllocationRow[]
  readonly canaries: readonly AllocationRow[]
  readonly count: number
}

/** Indexes of what is to be replaced, then free ones, then those from the count on. */
export function canaryIndexes(names: CanaryNames): readonly number[] {
  const { wanted, destructive, taken, canaries, count } = names
  if (wanted <= 0) return []
  const used = new Set(canaries.map(indexOf))
  const indexes: number[] = []
  const take = (index: number): void => {
    if (indexes.length >= wanted || used.has(index)) return
    used.add(index)
    indexes.push(index)
  }
  for (const row of destructive) take(indexOf(row))
  if (indexes.length === wanted) return indexes
  for (const row of taken) used.add(indexOf(row))
  for (let index = 0; index < count + used.size + wanted; index++) take(index)
  return indexes
}
