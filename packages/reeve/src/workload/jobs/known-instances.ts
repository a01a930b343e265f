import type { Deployment, Job } from '@reeve/contract'
import { formatDurationNs, isoFromMs, ZERO_TIME } from '@reeve/kit/duration.ts'
import type { Steps } from '@reeve/kit/slices.ts'
import {
  holdText,
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
  type KnownInstance,
  type Plan,
} from '../../scheduler/index.ts'
import { namespacedKey } from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'
import { planningContext } from './plan.ts'

interface Known extends Required<Pick<ExplainOptions, 'knownOf' | 'withheld'>> {
  /** By group: the version that an evaluation would place, if it is not the job's current one. */
  readonly versions: Plan['unplacedVersions']
}

/**
 * Returns the known states of instances besides feasibility: a dry-run evaluation determines which
 * it would place; any that it neither places nor reports as failed waits for something else.
 */
export function* knownInstances(context: WorkloadContext, job: Job): Steps<Known> {
  const { view, clock } = context
  const nowMs = clock.nowMs()
  const { JobModifyIndex: jobModifyIndex } = job
  // This trigger does not force a reschedule, so instances that require one are not reported as
  // placed.
  const options = { id: '', trigger: 'queued-allocs', timeMs: nowMs, jobModifyIndex } as const
  const plan = yield* scheduleSteps(view, newEvaluation(job, options), planningContext(nowMs))
  const isOnEveryNode = isSystemType(job.Type)
  const keyOf = (row: AllocationRow): string => keyFor(row.Name, isOnEveryNode ? row.NodeID : '')
  const roomOf = roomFinder(context, { job, plan, keyOf })
  const ended = endedRows(context, job, keyOf)
  const due = dueTimes(context, plan)
  const failed = plan.evaluation.FailedTGAllocs ?? {}
  const deployment = view.latestDeployment(job.Namespace, job.ID)
  const lossHold = holdAfterLoss(job, nowMs)
  const knownOf = (name: string, nodeId: string): KnownInstance | undefined => {
    const key = keyFor(name, nodeId)
    const before = ended.get(key)
    const roomy = roomOf(key, before)
    if (roomy !== undefined) return roomy
    if (lossHold !== undefined) return { ...lossHold, PreviousAllocation: before?.ID ?? '' }
    const dueIso = before === undefined ? undefined : due(before)
    if (before !== undefined && dueIso !== undefined) return delayed(before, dueIso, nowMs)
    if (Object.hasOwn(failed, groupOf(job, name))) return undefined
    return held(before, deploymentText(ownDeployment(deployment, job)) ?? endText(before))
  }
  return { knownOf, withheld: plan.withheld, versions: plan.unplacedVersions }
}

/**
 * Returns the state of all instances while the job is held because nodes were lost with it
 * (decision 0061).
 */
function holdAfterLoss(job: Job, nowMs: number): KnownInstance | undefined {
  const phase = placementPhase(job, nowMs)
  const Text = holdText(phase, job)
  if (phase.phase === 'open' || Text === undefined) return undefined
  if (phase.phase === 'quarantined') return { State: 'held', Text }
  return { State: 'delayed', WaitUntil: isoFromMs(phase.untilMs), Text }
}

/** Returns a function for the state of an instance that has capacity but still waits. */
function roomFinder({ store }: WorkloadContext, { job, plan, keyOf }: RoomOptions) {
  const placed = new Map(plan.placements.map((row) => [keyOf(row), row]))
  const withheld = new Map(plan.withheld.map((row) => [keyOf(row), row]))
  const jobKey = namespacedKey(job.Namespace, job.ID)
  const isOpen = store.tables.evaluations.countIn('open', jobKey) > 0
  return (key: string, before: AllocationRow | undefined): KnownInstance | undefined => {
    const row = placed.get(key)
    if (row !== undefined) return isOpen ? willBePlaced(row) : awaitsEvaluation(before)
    const waiting = withheld.get(key)
    return waiting === undefined ? undefined : awaitsOthers(waiting, before)
  }
}

interface RoomOptions {
  readonly job: Job
  readonly plan: Plan
  readonly keyOf: (row: AllocationRow) => string
}

function keyFor(name: string, nodeId: string): string {
  return `${nodeId} ${name}`
}

/** Returns the group of `<job>.<group>[<n>]`, where the group may contain brackets too. */
function groupOf(job: Job, name: string): string {
  return name.slice(job.ID.length + 1, name.lastIndexOf('['))
}

/** Returns the newest terminal allocation of each name. */
function endedRows(
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
function dueTimes(
  { store, clock }: WorkloadContext,
  plan: Plan,
): (row: AllocationRow) => string | undefined {
  const noted = new Map(plan.notes.map((row) => [row.ID, row.FollowupEvalID ?? '']))
  const planned = new Map(plan.followUps.map((one) => [one.ID, one.WaitUntil]))
  const now = isoFromMs(clock.nowMs())
  return ({ ID, FollowupEvalID: stored = '' }) => {
    const id = noted.get(ID) ?? stored
    const followUp = id === '' ? undefined : store.tables.evaluations.find(id)
    const due = planned.get(id) ?? (followUp?.Status === 'pending' ? followUp.WaitUntil : undefined)
    return due !== undefined && due !== ZERO_TIME && due > now ? due : undefined
  }
}

/** Returns the deployment if it belongs to the current version. */
function ownDeployment(deployment: Deployment | undefined, job: Job): Deployment | undefined {
  const isOwn =
    deployment?.JobCreateIndex === job.CreateIndex && deployment.JobVersion === job.Version
  return isOwn ? deployment : undefined
}

function willBePlaced({ NodeName }: AllocationRow): KnownInstance {
  const Text = `there is room for it on node ${NodeName}; its evaluation has not run yet`
  return { State: 'queued', Text }
}

function delayed({ ID }: AllocationRow, dueIso: string, nowMs: number): KnownInstance {
  const seconds = Math.max(1, Math.ceil((Date.parse(dueIso) - nowMs) / 1_000))
  return {
    State: 'delayed',
    WaitUntil: dueIso,
    PreviousAllocation: ID,
    Text: `the previous allocation failed; rescheduling in ${formatDurationNs(seconds * 1e9)}`,
  }
}

function held(before: AllocationRow | undefined, Text: string): KnownInstance {
  return { State: 'held', PreviousAllocation: before?.ID ?? '', Text }
}

function awaitsOthers(
  { NodeName }: AllocationRow,
  before: AllocationRow | undefined,
): KnownInstance {
  const text = `there is room for it on node ${NodeName}; it waits until all of the job finds room`
  return held(before, text)
}

/** Waits for an evaluation: the successful end of an allocation does not create one. */
function awaitsEvaluation(before: AllocationRow | undefined): KnownInstance {
  const text =
    before === undefined
      ? 'it is placed at the next evaluation of the job'
      : `the one before it is ${before.ClientStatus}; it is placed again at the next evaluation of the job`
  return held(before, text)
}

function endText(before: AllocationRow | undefined): string {
  return before === undefined
    ? 'the scheduler does not place it now'
    : `the one before it is ${before.ClientStatus} and is not placed again`
}

/** Returns how an active deployment delays placement; undefined if it does not. */
function deploymentText(deployment: Deployment | undefined): string | undefined {
  if (deployment === undefined || !isActiveDeployment(deployment)) return undefined
  if (deployment.Status === 'paused') return 'its deployment is paused, and goes on when resumed'
  return awaitsPromotion(deployment)
    ? 'its deployment waits until its canaries are promoted'
    : 'its deployment lets it start when those before it are healthy'
}
