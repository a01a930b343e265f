import {
  isMissedDeadline,
  type AllocationDeploymentStatus,
  type Deployment,
  type DeploymentGroupState,
} from '@reeve/contract'
import { isoFromMs, msFromNs, ZERO_TIME } from '@reeve/kit/duration.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import type { AllocationRow } from '../allocation/allocation-row.ts'
import { LIMITS } from '../limits.ts'
import { groupStateOf, isActiveDeployment, withGroupStates } from './deployment.ts'

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

interface AllocationHealthReport {
  /** The stored allocation. */
  readonly row: AllocationRow
  readonly clientStatus: AllocationRow['ClientStatus']
  /** Null or undefined if the node reports no health. */
  readonly reportedStatus: AllocationDeploymentStatus | null | undefined
  readonly index: number
  readonly timeMs: number
}

/**
 * Returns the health of an allocation after a report: the first value is kept, except that a
 * healthy one may become unhealthy. An allocation that fails before it was healthy is unhealthy,
 * whether or not its node reports so. A node cannot change whether it is a canary.
 */
export function mergeReportedHealth(
  report: AllocationHealthReport,
): AllocationDeploymentStatus | undefined {
  const { row, reportedStatus, index, timeMs } = report
  const before = row.DeploymentStatus ?? undefined
  const [previous, next] = [before?.Healthy ?? null, healthOfReport(report)]
  if (next === null || next === previous || previous === false) return before
  return {
    Healthy: next,
    Timestamp:
      reportedStatus?.Healthy === next
        ? boundedTimestamp(reportedStatus, timeMs)
        : isoFromMs(timeMs),
    Canary: before?.Canary ?? false,
    ModifyIndex: index,
  }
}

function healthOfReport({
  row,
  clientStatus,
  reportedStatus,
}: AllocationHealthReport): boolean | null {
  const reported = reportedStatus?.Healthy ?? null
  if (reported !== null || (row.DeploymentID ?? '') === '') return reported
  const hasHealth = (row.DeploymentStatus?.Healthy ?? null) !== null
  return clientStatus === 'failed' && !hasHealth ? false : null
}

/** Limits the timestamp: a node whose clock is ahead must not extend a deadline. */
function boundedTimestamp(
  { Timestamp: timestamp }: AllocationDeploymentStatus,
  timeMs: number,
): string {
  const ms = Date.parse(timestamp)
  return Number.isFinite(ms) && ms > 0 && ms <= timeMs ? isoFromMs(ms) : isoFromMs(timeMs)
}

type FailureRow = Pick<
  AllocationRow,
  'ID' | 'TaskGroup' | 'ModifyIndex' | 'ClientStatus' | 'ClientDescription' | 'TaskStates'
>

/**
 * Returns why allocations of a deployment are not healthy, from the newest one with a reason: the
 * check that did not pass, or the failure of a task. Empty if there is none.
 */
export function failureReason(rows: readonly FailureRow[]): string {
  const newestFirst = rows.toSorted(
    (a, b) => b.ModifyIndex - a.ModifyIndex || compareText(a.ID, b.ID),
  )
  for (const row of newestFirst) {
    const failure = taskFailure(row)
    if (failure === undefined) continue
    const allocationLabel = `allocation ${row.ID.slice(0, 8)} of group "${row.TaskGroup}"`
    return `${allocationLabel}, task "${failure.task}": ${toShortLine(failure.text)}`
  }
  return ''
}

interface TaskFailure {
  readonly task: string
  readonly text: string
}

/** Prefers failed tasks to tasks that are only not healthy yet. */
function taskFailure({ TaskStates }: FailureRow): TaskFailure | undefined {
  const tasks = Object.entries(TaskStates ?? {}).toSorted(([a], [b]) => compareText(a, b))
  for (const types of [FAILURE_EVENTS, UNHEALTHY_EVENTS])
    for (const [task, state] of tasks) {
      if (types === FAILURE_EVENTS && state.Failed !== true) continue
      const events = (state.Events ?? []).filter(({ Type }) => types.has(Type ?? ''))
      const event = events.findLast((one) => !isMissedDeadline(one)) ?? events.at(-1)
      const text = event?.DisplayMessage || event?.Message || ''
      if (text !== '') return { task, text }
    }
  return undefined
}

/**
 * Events that describe a task failure; `Not Restarting` follows each of them and is less specific.
 */
const FAILURE_EVENTS: ReadonlySet<string> = new Set([
  'Terminated',
  'Driver Failure',
  'Setup Failure',
  'Failed Artifact Download',
  'Failed Validation',
  'Task hook failed',
  'Failed Restoring Task',
])

const UNHEALTHY_EVENTS: ReadonlySet<string> = new Set([
  ...FAILURE_EVENTS,
  'Alloc Unhealthy',
  'Restart Signaled',
])

/** Returns one line of limited length, because the text may come from a task or driver. */
function toShortLine(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  const max = LIMITS.failureReasonCharsMax
  return line.length > max ? `${line.slice(0, max)}…` : line
}
