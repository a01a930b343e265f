import {
  allocationHealth,
  type AllocationStub,
  type Deployment,
  type Evaluation,
  type ServiceRegistration,
  type TaskEvent,
} from '@reeve/contract'
import { printableName } from '../output/printable.ts'

/** What is known of a roll-out while it is watched. */
export interface RolloutState {
  readonly jobId: string
  readonly evaluation: Evaluation | undefined
  readonly deployment: Deployment | undefined
  readonly allocations: readonly AllocationStub[]
  /** The service instances of the job, with the state of their checks. */
  readonly services?: readonly ServiceRegistration[]
  /** It is watched until what had no place has one. */
  readonly waitsForRoom?: boolean
  /** Why the job is not placed: nodes were lost while it was starting on them. */
  readonly heldBack?: string
}

/** What had no place, by group, until something is placed after all. */
export function unplacedGroups(state: RolloutState) {
  const { evaluation, allocations, waitsForRoom = false } = state
  if (!waitsForRoom || evaluation === undefined) return []
  const isPlaced = allocations.some(({ CreateIndex }) => CreateIndex > evaluation.ModifyIndex)
  return isPlaced ? [] : Object.entries(evaluation.FailedTGAllocs ?? {})
}

/** Whether a deployment will not change any more. */
export function hasEnded({ Status }: Pick<Deployment, 'Status'>): boolean {
  return Status === 'successful' || Status === 'failed' || Status === 'cancelled'
}

/** Whether all that is left to do is for a person to promote the canaries. */
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
export function healthText(allocation: AllocationStub, nowMs: number): string {
  const canary = allocation.DeploymentStatus?.Canary === true ? ' (canary)' : ''
  return `${allocationHealth(allocation, nowMs)}${canary}`
}

/** The last thing that happened to a task of the allocation that explains its state. */
export function lastMessage(allocation: AllocationStub): string {
  const events = eventsOf(allocation)
  const last = events.findLast(isTelling) ?? events.at(-1)
  return last === undefined ? allocation.ClientDescription : messageOf(last)
}

/** Why an allocation that may yet become healthy is not; undefined when nothing went wrong. */
export function troubleOf(
  allocation: AllocationStub,
  { services = [] }: Pick<RolloutState, 'services'>,
): string | undefined {
  if (allocation.DeploymentStatus?.Healthy === true) return undefined
  const last = eventsOf(allocation).findLast((one) => isTelling(one) && !endedWell(one))
  if (last !== undefined) return messageOf(last)
  const failing = services.find((one) => one.AllocID === allocation.ID && hasFailingCheck(one))
  return failing === undefined ? undefined : failingCheckText(failing)
}

export function hasFailingCheck({ Checks }: ServiceRegistration): boolean {
  return (Checks?.Failing ?? 0) > 0
}

/** `service "web": a check fails: connection refused`. */
export function failingCheckText({ ServiceName, Checks }: ServiceRegistration): string {
  const [line = ''] = (Checks?.Output ?? '').trim().split('\n', 1)
  return `service "${ServiceName}": a check fails${line === '' ? '' : `: ${printableName(line)}`}`
}

interface Happened {
  readonly task: string
  readonly event: TaskEvent
}

/** Of all tasks, in the order in which they happened. */
function eventsOf({ TaskStates }: AllocationStub): readonly Happened[] {
  const events = Object.entries(TaskStates ?? {}).flatMap(([task, { Events }]) =>
    Events.map((event) => ({ task, event })),
  )
  return events.toSorted((a, b) => a.event.Time - b.event.Time)
}

function isTelling({ event }: Happened): boolean {
  return TELLING.has(event.Type)
}

function endedWell({ event: { Type, ExitCode, Signal } }: Happened): boolean {
  return Type === 'Terminated' && ExitCode === 0 && Signal === 0
}

function messageOf({ task, event }: Happened): string {
  return `task "${task}": ${event.DisplayMessage || event.Type}`
}

/** Events that say why a task does not run; the others say what is done about it. */
const TELLING: ReadonlySet<string> = new Set([
  'Driver Failure',
  'Setup Failure',
  'Failed Validation',
  'Failed Artifact Download',
  'Template',
  'Terminated',
  'Sibling Task Failed',
  'Alloc Unhealthy',
])
