import {
  allocationHealth,
  isMissedDeadline,
  type AllocationStub,
  type Deployment,
  type Evaluation,
  type ServiceRegistration,
  type TaskEvent,
} from '@reeve/contract'
import { noPaint, type Paint, statusStyle } from '../output/color.ts'
import { shortenId, renderTable } from '../output/format.ts'
import { escapeControlCharacters } from '../output/printable.ts'
import { formatPlacementFailure } from '../plan/placement-failures.ts'

/** Allocations shown, newest first. */
const ALLOCATIONS_SHOWN_MAX = 20
const FAILURES_SHOWN_MAX = 3

/** Formats the progress for a redrawn screen. */
export function formatDeploymentProgress(
  progress: DeploymentProgress,
  paint: Paint,
  nowMs: number,
): string {
  const state = progress.isReported === true ? withoutReasons(progress) : progress
  const { evaluation, deployment, allocations } = state
  const parts = [
    evaluation === undefined
      ? ''
      : `Evaluation ${shortenId(evaluation.ID)}  ${colorizeStatus(evaluation.Status, paint)}\n`,
    formatWaiting(state, paint),
    state.heldBack === undefined ? '' : `${paint('warning', state.heldBack)}\n`,
    deployment === undefined ? '' : formatDeployment(deployment, paint),
    allocations.length === 0 ? '' : `\n${formatAllocations(state, paint, nowMs)}`,
  ]
  return parts.join('')
}

/** Leaves out what the report of a failed deployment repeats. */
function withoutReasons(state: DeploymentProgress): DeploymentProgress {
  const { deployment, ...rest } = state
  if (deployment?.Status !== 'failed') return state
  return { ...rest, deployment: { ...deployment, StatusDescription: '' } }
}

function formatWaiting(state: DeploymentProgress, paint: Paint): string {
  const groups = unplacedGroups(state).map(([name, metrics]) =>
    formatPlacementFailure(name, metrics, paint),
  )
  return groups.length === 0 ? '' : `${groups.join('\n')}\n${paint('warning', WAITING_MESSAGE)}\n`
}

function colorizeStatus(status: string, paint: Paint): string {
  return paint(statusStyle(status), status)
}

function formatDeployment(deployment: Deployment, paint: Paint): string {
  const { ID, Status, StatusDescription, TaskGroups } = deployment
  const groups = Object.entries(TaskGroups).toSorted(([a], [b]) => (a < b ? -1 : 1))
  const hasCanaries = groups.some(([, group]) => group.DesiredCanaries > 0)
  const rows = groups.map(([name, group]) => [
    name,
    String(group.DesiredTotal),
    ...(hasCanaries ? [canaryText(group)] : []),
    String(group.PlacedAllocs),
    String(group.HealthyAllocs),
    String(group.UnhealthyAllocs),
  ])
  const canaries = hasCanaries ? ['Canaries'] : []
  const heading = ['Group', 'Desired', ...canaries, 'Placed', 'Healthy', 'Unhealthy']
  const head = `Deployment ${shortenId(ID)}  ${colorizeStatus(Status, paint)}  ${paint('dim', StatusDescription)}`
  return `${head.trimEnd()}\n\n${renderTable(heading, rows)}`
}

function canaryText({
  DesiredCanaries,
  PlacedCanaries,
  Promoted,
}: Deployment['TaskGroups'][string]): string {
  if (DesiredCanaries === 0) return '-'
  return Promoted ? 'promoted' : `${PlacedCanaries?.length ?? 0} of ${DesiredCanaries}`
}

function formatAllocations(state: DeploymentProgress, paint: Paint, nowMs: number): string {
  const newest = state.allocations.toSorted(
    (a, b) => b.CreateIndex - a.CreateIndex || (a.Name < b.Name ? -1 : 1),
  )
  const rows = newest
    .slice(0, ALLOCATIONS_SHOWN_MAX)
    .map((one) => [
      shortenId(one.ID),
      one.TaskGroup,
      one.NodeName,
      String(one.JobVersion),
      paint(statusStyle(allocationHealth(one, nowMs)), formatHealth(one, nowMs)),
    ])
  const more = newest.length - rows.length
  return [
    renderTable(['Allocation', 'Group', 'Node', 'Version', 'Status'], rows),
    more > 0 ? `… and ${more} more\n` : '',
    ...(state.isReported === true ? [] : failureLines(newest, state)).map(
      (line) => `${paint('warning', line)}\n`,
    ),
  ].join('')
}

/** Formats failures during monitoring, because the deadline may be minutes away. */
function failureLines(
  newest: readonly AllocationStub[],
  state: DeploymentProgress,
): readonly string[] {
  const lines = newest.flatMap((one) => {
    const trouble = failureReason(one, state)
    return trouble === undefined ? [] : [`${shortenId(one.ID)}, ${trouble}`]
  })
  return lines.length === 0 ? [] : ['', ...lines.slice(0, FAILURES_SHOWN_MAX)]
}

/** Notice while allocations wait for capacity. */
const WAITING_MESSAGE =
  'Waiting for capacity. Press Ctrl-C to stop waiting; the job is not affected.'

/** Progress as lines for pipes: prints a line for each change. */
export class DeploymentLines {
  readonly #printed = new Map<string, string>()

  changedLines(state: DeploymentProgress, nowMs: number): readonly string[] {
    const { evaluation, deployment, allocations } = state
    const lines: string[] = []
    const say = (key: string, line: string): void => {
      if (this.#printed.get(key) === line) return
      this.#printed.set(key, line)
      lines.push(line)
    }
    if (evaluation !== undefined)
      say('evaluation', `Evaluation ${shortenId(evaluation.ID)} is ${evaluation.Status}.`)
    for (const [name, metrics] of unplacedGroups(state))
      say(`room ${name}`, `${formatPlacementFailure(name, metrics, noPaint)}\n${WAITING_MESSAGE}`)
    if (state.heldBack !== undefined) say('held back', `Job "${state.jobId}": ${state.heldBack}.`)
    const isOver = deployment !== undefined && hasEnded(deployment)
    if (deployment !== undefined && !isOver) say('deployment', deploymentLine(deployment))
    for (const one of allocations.toSorted(
      (a, b) => a.CreateIndex - b.CreateIndex || (a.Name < b.Name ? -1 : 1),
    )) {
      const where = `${one.Name} on ${one.NodeName}`
      say(one.ID, `Allocation ${shortenId(one.ID)} (${where}) is ${formatHealth(one, nowMs)}.`)
      const trouble = failureReason(one, state)
      if (trouble !== undefined)
        say(`trouble ${one.ID}`, `Allocation ${shortenId(one.ID)}, ${trouble}`)
    }
    for (const [name, group] of Object.entries(deployment?.TaskGroups ?? {}))
      say(
        `group ${name}`,
        `Group "${name}": ${group.HealthyAllocs} of ${group.DesiredTotal} healthy.`,
      )
    // The final status is printed last.
    if (deployment !== undefined && isOver) say('deployment', deploymentLine(deployment))
    return lines
  }
}

/** The description of a failed deployment is left to the report that follows. */
function deploymentLine({ ID, Status, StatusDescription }: Deployment): string {
  const isPlain = StatusDescription === '' || Status === 'failed'
  const why = isPlain ? '' : `: ${StatusDescription.replace(/\.$/, '')}`
  return `Deployment ${shortenId(ID)} is ${Status}${why}.`
}

/** Progress of a monitored deployment. */
export interface DeploymentProgress {
  readonly jobId: string
  readonly evaluation: Evaluation | undefined
  readonly deployment: Deployment | undefined
  readonly allocations: readonly AllocationStub[]
  /** The service instances of the job, with the state of their checks. */
  readonly services?: readonly ServiceRegistration[]
  /** A report of the failures follows the progress. */
  readonly isReported?: boolean
  /** Monitoring continues until all allocations are placed. */
  readonly waitsForRoom?: boolean
  /** Why the job is not placed: nodes were lost while it was starting on them. */
  readonly heldBack?: string
}

/** Returns placement failures by group; empty once something was placed. */
export function unplacedGroups(state: DeploymentProgress) {
  const { evaluation, allocations, waitsForRoom = false } = state
  if (!waitsForRoom || evaluation === undefined) return []
  const isPlaced = allocations.some(({ CreateIndex }) => CreateIndex > evaluation.ModifyIndex)
  return isPlaced ? [] : Object.entries(evaluation.FailedTGAllocs ?? {})
}

/** Whether the deployment has a final status. */
export function hasEnded({ Status }: Pick<Deployment, 'Status'>): boolean {
  return Status === 'successful' || Status === 'failed' || Status === 'cancelled'
}

/** Whether the deployment waits only for a manual promotion of its canaries. */
export function waitsForPromotion(
  deployment: Deployment,
  allocations: readonly AllocationStub[],
): boolean {
  const groups = Object.entries(deployment.TaskGroups)
  const onTrial = groups.filter(([, group]) => group.DesiredCanaries > 0 && !group.Promoted)
  if (onTrial.length === 0 || onTrial.some(([, group]) => group.AutoPromote)) return false
  return onTrial.every(([name, group]) => {
    const canaries = allocations.filter(
      ({ TaskGroup, DeploymentStatus }) => TaskGroup === name && DeploymentStatus?.Canary === true,
    )
    const healthy = canaries.filter(({ DeploymentStatus }) => DeploymentStatus?.Healthy === true)
    return healthy.length >= group.DesiredCanaries
  })
}

/** Returns the health of an allocation, with a mark if it is a canary. */
function formatHealth(allocation: AllocationStub, nowMs: number): string {
  const canary = allocation.DeploymentStatus?.Canary === true ? ' (canary)' : ''
  return `${allocationHealth(allocation, nowMs)}${canary}`
}

/** Returns the latest event that explains the state of the allocation. */
export function lastMessage(allocation: AllocationStub): string {
  const events = taskEvents(allocation)
  const last = lastCause(events.filter(isFailureEvent)) ?? events.at(-1)
  return last === undefined ? allocation.ClientDescription : formatTaskEvent(last)
}

/** Prefers the failure of a task to the deadline that it missed for that reason. */
function lastCause(events: readonly TaskEventRecord[]): TaskEventRecord | undefined {
  return events.findLast(({ event }) => !isMissedDeadline(event)) ?? events.at(-1)
}

/** Returns why an allocation is not healthy yet; undefined if nothing failed. */
function failureReason(
  allocation: AllocationStub,
  { services = [] }: Pick<DeploymentProgress, 'services'>,
): string | undefined {
  if (allocation.DeploymentStatus?.Healthy === true) return undefined
  const events = taskEvents(allocation)
  const failed = events.filter(
    (one, at) =>
      isFailureEvent(one) && !exitedSuccessfully(one) && !isOvercome(one, events.slice(at)),
  )
  const last = lastCause(failed)
  if (last !== undefined) return formatTaskEvent(last)
  const failing = services.find((one) => one.AllocID === allocation.ID && hasFailingCheck(one))
  return failing === undefined ? undefined : failingCheckText(failing)
}

/** Reports whether a task that waited for the data of its templates has started since. */
function isOvercome({ task, event }: TaskEventRecord, later: readonly TaskEventRecord[]): boolean {
  return (
    event.Type === 'Template' &&
    later.some((one) => one.task === task && one.event.Type === 'Started')
  )
}

export function hasFailingCheck({ Checks }: ServiceRegistration): boolean {
  return (Checks?.Failing ?? 0) > 0
}

/** `service "web": a check fails: connection refused`. */
export function failingCheckText({ ServiceName, Checks }: ServiceRegistration): string {
  const [line = ''] = (Checks?.Output ?? '').trim().split('\n', 1)
  return `service "${ServiceName}": a check fails${line === '' ? '' : `: ${escapeControlCharacters(line)}`}`
}

interface TaskEventRecord {
  readonly task: string
  readonly event: TaskEvent
}

/** Returns the events of all tasks by time. */
function taskEvents({ TaskStates }: AllocationStub): readonly TaskEventRecord[] {
  const events = Object.entries(TaskStates ?? {}).flatMap(([task, { Events }]) =>
    Events.map((event) => ({ task, event })),
  )
  return events.toSorted((a, b) => a.event.Time - b.event.Time)
}

function isFailureEvent({ event }: TaskEventRecord): boolean {
  return FAILURE_EVENTS.has(event.Type)
}

function exitedSuccessfully({ event: { Type, ExitCode, Signal } }: TaskEventRecord): boolean {
  return Type === 'Terminated' && ExitCode === 0 && Signal === 0
}

function formatTaskEvent({ task, event }: TaskEventRecord): string {
  return `task "${task}": ${event.DisplayMessage || event.Type}`
}

/** Event types that explain a failure; the others describe reactions. */
const FAILURE_EVENTS: ReadonlySet<string> = new Set([
  'Driver Failure',
  'Setup Failure',
  'Failed Validation',
  'Failed Artifact Download',
  'Template',
  'Terminated',
  'Sibling Task Failed',
  'Alloc Unhealthy',
])
