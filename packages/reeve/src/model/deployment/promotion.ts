import type { Deployment, DeploymentGroupState } from '@reeve/contract'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { type AllocationRow, isTerminal } from '../allocation/allocation-row.ts'
import {
  awaitsPromotion,
  groupStateOf,
  isAutoPromote,
  resetProgressDeadline,
  runningDescription,
  withGroupStates,
} from './deployment.ts'

export type FindAllocation = (id: string) => AllocationRow | undefined

/** Returns the groups with canaries that are not promoted, sorted by name. */
export function groupsAwaitingPromotion({ TaskGroups }: Deployment): readonly string[] {
  return Object.entries(TaskGroups)
    .filter(([, state]) => isAwaitingPromotion(state))
    .map(([name]) => name)
}

function isAwaitingPromotion(state: DeploymentGroupState): boolean {
  return state.DesiredCanaries > 0 && !state.Promoted
}

/** Returns the live healthy canaries of a group. */
export function healthyCanaries(
  deployment: Deployment,
  group: string,
  findAllocation: FindAllocation,
): readonly AllocationRow[] {
  const ids = groupStateOf(deployment, group)?.PlacedCanaries ?? []
  return ids.flatMap((id) => {
    const row = findAllocation(id)
    const isHealthy =
      row !== undefined && !isTerminal(row) && row.DeploymentStatus?.Healthy === true
    return isHealthy ? [row] : []
  })
}

/** Returns the reasons why the groups cannot be promoted; empty if they can. */
export function promotionProblems(
  deployment: Deployment,
  groups: readonly string[],
  findAllocation: FindAllocation,
): readonly string[] {
  return groups.flatMap((group) => {
    const requiredCount = groupStateOf(deployment, group)?.DesiredCanaries ?? 0
    const healthyCount = healthyCanaries(deployment, group, findAllocation).length
    return healthyCount < requiredCount
      ? [`Task group "${group}" has ${healthyCount}/${requiredCount} healthy allocations`]
      : []
  })
}

/**
 * Reports whether the deployment promotes its canaries automatically now: every group with canaries
 * has `auto_promote`, and all of them are healthy.
 */
export function shouldAutoPromote(deployment: Deployment, findAllocation: FindAllocation): boolean {
  if (deployment.Status !== 'running') return false
  if (!awaitsPromotion(deployment) || !isAutoPromote(deployment)) return false
  const groups = groupsAwaitingPromotion(deployment)
  // Checked first: the counters are cheap and nearly always decide.
  const haveEnoughHealthy = groups.every((group) => {
    const state = groupStateOf(deployment, group)
    return state !== undefined && state.HealthyAllocs >= state.DesiredCanaries
  })
  return haveEnoughHealthy && promotionProblems(deployment, groups, findAllocation).length === 0
}

/** Returns the deployment with these groups promoted and their progress deadlines restarted. */
export function promoteGroups(
  deployment: Deployment,
  groups: readonly string[],
  timeMs: number,
): Deployment {
  const states = groups.flatMap((group) => {
    const state = groupStateOf(deployment, group)
    if (state === undefined) return []
    return [[group, { ...resetProgressDeadline(state, timeMs), Promoted: true }] as const]
  })
  const next = withGroupStates(deployment, new Map(states))
  return {
    ...next,
    StatusDescription:
      next.Status === 'running' ? runningDescription(next) : next.StatusDescription,
    ModifyTime: nsFromMs(timeMs),
  }
}
