import type { Deployment, Job } from '@reeve/contract'
import { isoFromMs, ZERO_TIME } from '@reeve/kit/duration.ts'
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
  /** By group: the version that an evaluation would place, where it is not the job's own. */
  readonly versions: Plan['unplacedVersions']
}

/**
 * What is known of instances besides whether a node takes them: an evaluation of the job now, tried
 * and not carried out, says which of them it would place; what it would neither place nor find
 * without room waits for something else.
 */
export function* knownInstances(context: WorkloadContext, job: Job): Steps<Known> {
  const { view, clock } = context
  const nowMs = clock.nowMs()
  const { JobModifyIndex: jobModifyIndex } = job
  // Nobody asks for it: so what only somebody's word places again is not said to be placed.
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
    if (before !== undefined && dueIso !== undefined) return delayed(before, dueIso)
    if (Object.hasOwn(failed, groupOf(job, name))) return undefined
    return held(before, deploymentText(ownDeployment(deployment, job)) ?? endText(before))
  }
  return { knownOf, withheld: plan.withheld, versions: plan.unplacedVersions }
}

/** What holds all instances back because nodes were lost with the job (decision 0061). */
function holdAfterLoss(job: Job, nowMs: number): KnownInstance | undefined {
  const phase = placementPhase(job, nowMs)
  const Text = holdText(phase, job)
  if (phase.phase === 'open' || Text === undefined) return undefined
  if (phase.phase === 'quarantined') return { State: 'held', Text }
  return { State: 'delayed', WaitUntil: isoFromMs(phase.untilMs), Text }
}

/** What is known of an instance that finds room: what it waits for all the same. */
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

/** `<job>.<group>[<n>]`, where the group may hold brackets too. */
function groupOf(job: Job, name: string): string {
  return name.slice(job.ID.length + 1, name.lastIndexOf('['))
}

/** The newest allocation of each name that has ended. */
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

/** When the follow-up of an allocation is due: one that is stored, or one that would be made. */
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

/** The deployment of the job as it is registered now. */
function ownDeployment(deployment: Deployment | undefined, job: Job): Deployment | undefined {
  const isOwn =
    deployment?.JobCreateIndex === job.CreateIndex && deployment.JobVersion === job.Version
  return isOwn ? deployment : undefined
}

function willBePlaced({ NodeName }: AllocationRow): KnownInstance {
  const Text = `there is room for it on node ${NodeName}; its evaluation has not run yet`
  return { State: 'queued', Text }
}

function delayed({ ID }: AllocationRow, dueIso: string): KnownInstance {
  return {
    State: 'delayed',
    WaitUntil: dueIso,
    PreviousAllocation: ID,
    Text: `the one before it failed; it is placed again at ${dueIso}`,
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

/** That an allocation ended well is no cause to evaluate its job. */
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

/** How a deployment holds it back; undefined: none does. One that has ended holds nothing back. */
function deploymentText(deployment: Deployment | undefined): string | undefined {
  if (deployment === undefined || !isActiveDeployment(deployment)) return undefined
  if (deployment.Status === 'paused') return 'its deployment is paused, and goes on when resumed'
  return awaitsPromotion(deployment)
    ? 'its deployment waits until its canaries are promoted'
    : 'its deployment lets it start when those before it are healthy'
}
