import {
  allocationHealth,
  type AllocationStub,
  type Deployment,
  type Evaluation,
  type ServiceRegistration,
  type TaskEvent,
} from '@reeve/contract'
import { escapeControlCharacters } from '../output/printable.ts'

/** Progress of a monitored deployment. */
export interface DeploymentProgress {
  readonly jobId: string
  readonly evaluation: Evaluation | undefined
  readonly deployment: Deployment | undefined
  readonly allocations: readonly AllocationStub[]
  /** The service instances of the job, with the state of their checks. */
  readonly services?: readonly ServiceRegistration[]
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
export function formatHealth(allocation: AllocationStub, nowMs: number): string {
  const canary = allocation.DeploymentStatus?.Canary === true ? ' (canary)' : ''
  return `${allocationHealth(allocation, nowMs)}${canary}`
}

/** Returns the latest event that explains the state of the allocation. */
export function lastMessage(allocation: AllocationStub): string {
  const events = taskEvents(allocation)
  const last = events.findLast(isFailureEvent) ?? events.at(-1)
  return last === undefined ? allocation.ClientDescription : formatTaskEvent(last)
}

/** Returns why an allocation is not healthy yet; undefined if nothing failed. */
export function failureReason(
  allocation: AllocationStub,
  { services = [] }: Pick<DeploymentProgress, 'services'>,
): string | undefined {
  if (allocation.DeploymentStatus?.Healthy === true) return undefined
  const last = taskEvents(allocation).findLast(
    (one) => isFailureEvent(one) && !exitedSuccessfully(one),
  )
  if (last !== undefined) return formatTaskEvent(last)
  const failing = services.find((one) => one.AllocID === allocation.ID && hasFailingCheck(one))
  return failing === undefined ? undefined : failingCheckText(failing)
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
