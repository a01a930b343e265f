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
export function movesCounters({ before, after }: AllocationChange): boolean {
  if ((after.DeploymentID ?? '') === '') return false
  if (before?.DeploymentID !== after.DeploymentID) return true
  return healthOf(before) !== healthOf(after)
}

/**
 * Returns the deployment with counters updated by changes of its allocations, to be written in the
 * same commit. A terminal deployment is unchanged.
 */
export function countAllocations(
  deployment: Deployment,
  changes: readonly AllocationChange[],
): Deployment {
  if (!isActiveDeployment(deployment)) return deployment
  const states = new Map<string, Tally>()
  for (const change of changes) {
    const { TaskGroup: group, DeploymentID: id } = change.after
    if (id !== deployment.ID || !movesCounters(change)) continue
    const known = states.get(group) ?? startTally(groupStateOf(deployment, group))
    if (known === undefined) continue
    states.set(group, known)
    count(known, change)
  }
  if (states.size === 0) return deployment
  return withGroupStates(
    deployment,
    new Map([...states].map(([group, tally]) => [group, tally.state])),
  )
}

interface Tally {
  state: DeploymentGroupState
  /** Appended in place: copying the list for each canary would be quadratic. */
  readonly canaries: string[]
}

function startTally(state: DeploymentGroupState | undefined): Tally | undefined {
  if (state === undefined) return undefined
  return { state, canaries: [...(state.PlacedCanaries ?? [])] }
}

function count(tally: Tally, { before, after }: AllocationChange): void {
  const joins = before?.DeploymentID !== after.DeploymentID
  if (joins) place(tally, after)
  const [was, is] = [joins ? undefined : healthOf(before), healthOf(after)]
  if (was === is) return
  const { state } = tally
  tally.state = {
    ...state,
    HealthyAllocs: state.HealthyAllocs + Number(is === true) - Number(was === true),
    UnhealthyAllocs: state.UnhealthyAllocs + Number(is === false) - Number(was === false),
    RequireProgressBy: is === true ? extended(state, after) : state.RequireProgressBy,
  }
}

function place(tally: Tally, row: AllocationRow): void {
  if (row.DeploymentStatus?.Canary === true) tally.canaries.push(row.ID)
  const { state } = tally
  const isFirst = state.RequireProgressBy === ZERO_TIME && state.ProgressDeadline > 0
  tally.state = {
    ...state,
    PlacedAllocs: state.PlacedAllocs + 1,
    PlacedCanaries: tally.canaries.length === 0 ? null : tally.canaries,
    RequireProgressBy: isFirst
      ? isoFromMs(msFromNs(row.ModifyTime + state.ProgressDeadline))
      : state.RequireProgressBy,
  }
}

/** Extends the progress deadline: each allocation that becomes healthy restarts it. */
function extended(state: DeploymentGroupState, row: AllocationRow): string {
  if (state.ProgressDeadline <= 0) return state.RequireProgressBy
  const at = Date.parse(row.DeploymentStatus?.Timestamp ?? ZERO_TIME)
  const since = Number.isFinite(at) && at > 0 ? at : msFromNs(row.ModifyTime)
  const next = since + msFromNs(state.ProgressDeadline)
  return next > Date.parse(state.RequireProgressBy) ? isoFromMs(next) : state.RequireProgressBy
}

function healthOf(row: AllocationRow | undefined): boolean | undefined {
  return row?.DeploymentStatus?.Healthy ?? undefined
}
