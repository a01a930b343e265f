import type { Deployment, Job } from '@reeve/contract'
import { formatDurationNs, isoFromMs, ZERO_TIME } from '@reeve/kit/duration.ts'
import type { Steps } from '@reeve/kit/slices.ts'
import {
  placementHoldReason,
  isSystemType,
  awaitsPromotion,
  isActiveDeployment,
  isClientTerminal,
  newEvaluation,
  placementPhase,
  type AllocationRow,
} from '../../model/index.ts'
import {
  scheduleSteps,
  type ExplainOptions,
  type InstanceStatus,
  type Plan,
} from '../../scheduler/index.ts'
import { namespacedKey } from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'
import { dryRunContext } from './plan.ts'

interface InstanceStates extends Required<Pick<ExplainOptions, 'statusOf' | 'withheld'>> {
  /** By group: the version that an evaluation would place, if it is not the job's current one. */
  readonly versions: Plan['unplacedVersions']
}

/**
 * Returns the known states of instances besides feasibility: a dry-run evaluation determines which
 * it would place; any that it neither places nor reports as failed waits for something else.
 */
export function* explainInstances(context: WorkloadContext, job: Job): Steps<InstanceStates> {
  const { view, clock } = context
  const nowMs = clock.nowMs()
  const { JobModifyIndex: jobModifyIndex } = job
  // This trigger does not force a reschedule, so instances that require one are not reported as
  // placed.
  const options = { id: '', trigger: 'queued-allocs', timeMs: nowMs, jobModifyIndex } as const
  const plan = yield* scheduleSteps(view, newEvaluation(job, options), dryRunContext(nowMs))
  const isOnEveryNode = isSystemType(job.Type)
  const keyOf = (row: AllocationRow): string =>
    instanceKey(row.Name, isOnEveryNode ? row.NodeID : '')
  const placementOf = placementFinder(context, { job, plan, keyOf })
  const terminalRows = newestTerminalRows(context, job, keyOf)
  const dueTimeOf = rescheduleTimes(context, plan)
  const failed = plan.evaluation.FailedTGAllocs ?? {}
  const deployment = view.latestDeployment(job.Namespace, job.ID)
  const lossHold = waitAfterNodeLoss(job, nowMs)
  const instanceState = (name: string, nodeId: string): InstanceStatus | undefined => {
    const key = instanceKey(name, nodeId)
    const previous = terminalRows.get(key)
    const placement = placementOf(key, previous)
    if (placement !== undefined) return placement
    if (lossHold !== undefined) return { ...lossHold, PreviousAllocation: previous?.ID ?? '' }
    const dueIso = previous === undefined ? undefined : dueTimeOf(previous)
    if (previous !== undefined && dueIso !== undefined)
      return delayedInstance(previous, dueIso, nowMs)
    if (Object.hasOwn(failed, groupOfInstance(job, name))) return undefined
    return waitingInstance(
      previous,
      deploymentDelayText(deploymentOfVersion(deployment, job)) ?? terminalText(previous),
    )
  }
  return {
    statusOf: instanceState,
    withheld: plan.withheldPlacements,
    versions: plan.unplacedVersions,
  }
}

/**
 * Returns the state of all instances while the job is held because nodes were lost with it
 * (decision 0061).
 */
function waitAfterNodeLoss(job: Job, nowMs: number): InstanceStatus | undefined {
  const phase = placementPhase(job, nowMs)
  const Text = placementHoldReason(phase, job)
  if (phase.phase === 'open' || Text === undefined) return undefined
  if (phase.phase === 'quarantined') return { State: 'held', Text }
  return { State: 'delayed', WaitUntil: isoFromMs(phase.untilMs), Text }
}

/** Returns a function for the state of an instance that has capacity but still waits. */
function placementFinder({ store }: WorkloadContext, { job, plan, keyOf }: PlacementFinderOptions) {
  const placed = new Map(plan.placements.map((row) => [keyOf(row), row]))
  const withheld = new Map(plan.withheldPlacements.map((row) => [keyOf(row), row]))
  const jobKey = namespacedKey(job.Namespace, job.ID)
  const hasOpenEvaluation = store.tables.evaluations.countByIndex('open', jobKey) > 0
  return (key: string, previous: AllocationRow | undefined): InstanceStatus | undefined => {
    const row = placed.get(key)
    if (row !== undefined)
      return hasOpenEvaluation ? queuedInstance(row) : waitingForEvaluation(previous)
    const waiting = withheld.get(key)
    return waiting === undefined ? undefined : waitingForOthers(waiting, previous)
  }
}

interface PlacementFinderOptions {
  readonly job: Job
  readonly plan: Plan
  readonly keyOf: (row: AllocationRow) => string
}

function instanceKey(name: string, nodeId: string): string {
  return `${nodeId} ${name}`
}

/** Returns the group of `<job>.<group>[<n>]`, where the group may contain brackets too. */
function groupOfInstance(job: Job, name: string): string {
  return name.slice(job.ID.length + 1, name.lastIndexOf('['))
}

/** Returns the newest terminal allocation of each name. */
function newestTerminalRows(
  { view }: WorkloadContext,
  job: Job,
  keyOf: (row: AllocationRow) => string,
): ReadonlyMap<string, AllocationRow> {
  const rows = view
    .allocationsOf(job.Namespace, job.ID)
    .filter((row) => isClientTerminal(row) && row.CreateIndex >= job.CreateIndex)
    .toSorted((a, b) => a.CreateIndex - b.CreateIndex)
  return new Map(rows.map((row) => [keyOf(row), row]))
}

/**
 * Returns the due times of reschedules: of stored follow-up evaluations, and of those that would be
 * created.
 */
function rescheduleTimes(
  { store, clock }: WorkloadContext,
  plan: Plan,
): (row: AllocationRow) => string | undefined {
  const noted = new Map(plan.attributeUpdates.map((row) => [row.ID, row.FollowupEvalID ?? '']))
  const planned = new Map(plan.followUpEvaluations.map((one) => [one.ID, one.WaitUntil]))
  const now = isoFromMs(clock.nowMs())
  return ({ ID, FollowupEvalID: stored = '' }) => {
    const id = noted.get(ID) ?? stored
    const followUp = id === '' ? undefined : store.tables.evaluations.find(id)
    const due = planned.get(id) ?? (followUp?.Status === 'pending' ? followUp.WaitUntil : undefined)
    return due !== undefined && due !== ZERO_TIME && due > now ? due : undefined
  }
}

/** Returns the deployment if it belongs to the current version. */
function deploymentOfVersion(deployment: Deployment | undefined, job: Job): Deployment | undefined {
  const isOwn =
    deployment?.JobCreateIndex === job.CreateIndex && deployment.JobVersion === job.Version
  return isOwn ? deployment : undefined
}

function queuedInstance({ NodeName }: AllocationRow): InstanceStatus {
  const Text = `there is room for it on node ${NodeName}; its evaluation has not run yet`
  return { State: 'queued', Text }
}

function delayedInstance({ ID }: AllocationRow, dueIso: string, nowMs: number): InstanceStatus {
  const seconds = Math.max(1, Math.ceil((Date.parse(dueIso) - nowMs) / 1_000))
  return {
    State: 'delayed',
    WaitUntil: dueIso,
    PreviousAllocation: ID,
    Text: `the previous allocation failed; rescheduling in ${formatDurationNs(seconds * 1e9)}`,
  }
}

function waitingInstance(previous: AllocationRow | undefined, Text: string): InstanceStatus {
  return { State: 'held', PreviousAllocation: previous?.ID ?? '', Text }
}

function waitingForOthers(
  { NodeName }: AllocationRow,
  previous: AllocationRow | undefined,
): InstanceStatus {
  const text = `there is room for it on node ${NodeName}; it waits until all of the job finds room`
  return waitingInstance(previous, text)
}

/** Waits for an evaluation: the successful end of an allocation does not create one. */
function waitingForEvaluation(previous: AllocationRow | undefined): InstanceStatus {
  const text =
    previous === undefined
      ? 'it is placed at the next evaluation of the job'
      : `the one before it is ${previous.ClientStatus}; it is placed again at the next evaluation of the job`
  return waitingInstance(previous, text)
}

function terminalText(previous: AllocationRow | undefined): string {
  return previous === undefined
    ? 'the scheduler does not place it now'
    : `the one before it is ${previous.ClientStatus} and is not placed again`
}

/** Returns how an active deployment delays placement; undefined if it does not. */
function deploymentDelayText(deployment: Deployment | undefined): string | undefined {
  if (deployment === undefined || !isActiveDeployment(deployment)) return undefined
  if (deployment.Status === 'paused') return 'its deployment is paused, and goes on when resumed'
  return awaitsPromotion(deployment)
    ? 'its deployment waits until its canaries are promoted'
    : 'its deployment lets it start when those before it are healthy'
}
