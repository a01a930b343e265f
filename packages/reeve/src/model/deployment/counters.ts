import type { Deployment, DeploymentGroupState } from '@reeve/contract'
import { isoFromMs, msFromNs, ZERO_TIME } from '@reeve/kit/duration.ts'
import type { AllocationRow } from '../allocation/allocation-row.ts'
import { isActiveDeployment } from './deployment-status.ts'
import { groupStateOf, withGroupStates } from './new-deployment.ts'

/** An allocation before and after a commit. */
export interface AllocationChange {
  /** Undefined if the allocation is new. */
  readonly before: AllocationRow | undefined
  readonly after: AllocationRow
}

/** Reports whether a change of an allocation affects the counters of its deployment. */
export function affectsCounters({ before, after }: AllocationChange): boolean {
  if ((after.DeploymentID ?? '') === '') return false
  if (before?.DeploymentID !== after.DeploymentID) return true
  return healthOf(before) !== healthOf(after)
}

/**
 * Returns the deployment with counters updated by changes of its allocations, to be written in the
 * same commit. A terminal deployment is unchanged.
 */
export function applyToCounters(
  deployment: Deployment,
  changes: readonly AllocationChange[],
): Deployment {
  if (!isActiveDeployment(deployment)) return deployment
  const states = new Map<string, GroupCounters>()
  for (const change of changes) {
    const { TaskGroup: group, DeploymentID: id } = change.after
    if (id !== deployment.ID || !affectsCounters(change)) continue
    const counters = states.get(group) ?? newGroupCounters(groupStateOf(deployment, group))
    if (counters === undefined) continue
    states.set(group, counters)
    countChange(counters, change)
  }
  if (states.size === 0) return deployment
  return withGroupStates(
    deployment,
    new Map([...states].map(([group, groupCounters]) => [group, groupCounters.state])),
  )
}

interface GroupCounters {
  state: DeploymentGroupState
  /** Appended in place: copying the list for each canary would be quadratic. */
  readonly canaries: string[]
}

function newGroupCounters(state: DeploymentGroupState | undefined): GroupCounters | undefined {
  if (state === undefined) return undefined
  return { state, canaries: [...(state.PlacedCanaries ?? [])] }
}

function countChange(counters: GroupCounters, { before, after }: AllocationChange): void {
  const joinsDeployment = before?.DeploymentID !== after.DeploymentID
  if (joinsDeployment) countPlacement(counters, after)
  const [previousHealth, currentHealth] = [
    joinsDeployment ? undefined : healthOf(before),
    healthOf(after),
  ]
  if (previousHealth === currentHealth) return
  const { state } = counters
  counters.state = {
    ...state,
    HealthyAllocs:
      state.HealthyAllocs + Number(currentHealth === true) - Number(previousHealth === true),
    UnhealthyAllocs:
      state.UnhealthyAllocs + Number(currentHealth === false) - Number(previousHealth === false),
    RequireProgressBy:
      currentHealth === true ? extendedDeadline(state, after) : state.RequireProgressBy,
  }
}

function countPlacement(counters: GroupCounters, row: AllocationRow): void {
  if (row.DeploymentStatus?.Canary === true) counters.canaries.push(row.ID)
  const { state } = counters
  const isFirst = state.RequireProgressBy === ZERO_TIME && state.ProgressDeadline > 0
  counters.state = {
    ...state,
    PlacedAllocs: state.PlacedAllocs + 1,
    PlacedCanaries: counters.canaries.length === 0 ? null : counters.canaries,
    RequireProgressBy: isFirst
      ? isoFromMs(msFromNs(row.ModifyTime + state.ProgressDeadline))
      : state.RequireProgressBy,
  }
}

/** Extends the progress deadline: each allocation that becomes healthy restarts it. */
function extendedDeadline(state: DeploymentGroupState, row: AllocationRow): string {
  if (state.ProgressDeadline <= 0) return state.RequireProgressBy
  const reportedMs = Date.parse(row.DeploymentStatus?.Timestamp ?? ZERO_TIME)
  const sinceMs =
    Number.isFinite(reportedMs) && reportedMs > 0 ? reportedMs : msFromNs(row.ModifyTime)
  const deadlineMs = sinceMs + msFromNs(state.ProgressDeadline)
  return deadlineMs > Date.parse(state.RequireProgressBy)
    ? isoFromMs(deadlineMs)
    : state.RequireProgressBy
}

function healthOf(row: AllocationRow | undefined): boolean | undefined {
  return row?.DeploymentStatus?.Healthy ?? undefined
}
