import type { Deployment, DeploymentGroupState } from '@reeve/contract'
import { nsFromMs } from '@reeve/kit/duration.ts'
import type { AllocationRow } from '../allocation/allocation-row.ts'
import { isTerminal } from '../allocation/terminal.ts'
import { withFreshDeadline } from './deadline.ts'
import { awaitsPromotion, promotesItself, runningText } from './deployment-status.ts'
import { groupStateOf, withGroupStates } from './new-deployment.ts'

export type FindAllocation = (id: string) => AllocationRow | undefined

/** Returns the groups with canaries that are not promoted, sorted by name. */
export function groupsOnTrial({ TaskGroups }: Deployment): readonly string[] {
  return Object.entries(TaskGroups)
    .filter(([, state]) => isOnTrial(state))
    .map(([name]) => name)
}

function isOnTrial(state: DeploymentGroupState): boolean {
  return state.DesiredCanaries > 0 && !state.Promoted
}

/** Returns the live healthy canaries of a group. */
export function healthyCanaries(
  deployment: Deployment,
  group: string,
  find: FindAllocation,
): readonly AllocationRow[] {
  const ids = groupStateOf(deployment, group)?.PlacedCanaries ?? []
  return ids.flatMap((id) => {
    const row = find(id)
    const counts = row !== undefined && !isTerminal(row) && row.DeploymentStatus?.Healthy === true
    return counts ? [row] : []
  })
}

/** Returns the reasons why the groups cannot be promoted; empty if they can. */
export function promotionProblems(
  deployment: Deployment,
  groups: readonly string[],
  find: FindAllocation,
): readonly string[] {
  return groups.flatMap((group) => {
    const need = groupStateOf(deployment, group)?.DesiredCanaries ?? 0
    const have = healthyCanaries(deployment, group, find).length
    return have < need ? [`Task group "${group}" has ${have}/${need} healthy allocations`] : []
  })
}

/**
 * Reports whether the deployment promotes its canaries automatically now: every group with canaries
 * has `auto_promote`, and all of them are healthy.
 */
export function promotesNow(deployment: Deployment, find: FindAllocation): boolean {
  if (deployment.Status !== 'running') return false
  if (!awaitsPromotion(deployment) || !promotesItself(deployment)) return false
  const groups = groupsOnTrial(deployment)
  // Checked first: the counters are cheap and nearly always decide.
  const mayBe = groups.every((group) => {
    const state = groupStateOf(deployment, group)
    return state !== undefined && state.HealthyAllocs >= state.DesiredCanaries
  })
  return mayBe && promotionProblems(deployment, groups, find).length === 0
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
    return [[group, { ...withFreshDeadline(state, timeMs), Promoted: true }] as const]
  })
  const next = withGroupStates(deployment, new Map(states))
  return {
    ...next,
    StatusDescription: next.Status === 'running' ? runningText(next) : next.StatusDescription,
    ModifyTime: nsFromMs(timeMs),
  }
}
