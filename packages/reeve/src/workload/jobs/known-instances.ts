import type { Deployment, Job } from '@reeve/contract'
import { isoFromMs, ZERO_TIME } from '../../kit/duration.ts'
import {
  awaitsPromotion,
  isActiveDeployment,
  isClientTerminal,
  newEvaluation,
  type AllocationRow,
} from '../../model/index.ts'
import { schedule, type KnownInstance, type Plan } from '../../scheduler/index.ts'
import type { WorkloadContext } from '../context.ts'
import { planningContext } from './plan.ts'

type KnownOf = (name: string, nodeId: string) => KnownInstance | undefined

/**
 * What is known of instances besides whether a node takes them: an evaluation of the job now, tried
 * and not carried out, says which of them it would place; what it would neither place nor find
 * without room waits for something else.
 */
export function knownInstances(context: WorkloadContext, job: Job): KnownOf {
  const { view, clock } = context
  const nowMs = clock.nowMs()
  const { JobModifyIndex: jobModifyIndex } = job
  const options = { id: '', trigger: 'job-register', timeMs: nowMs, jobModifyIndex } as const
  const plan = schedule(view, newEvaluation(job, options), planningContext(nowMs))
  const isOnEveryNode = job.Type === 'system' || job.Type === 'sysbatch'
  const keyOf = (row: AllocationRow): string => keyFor(row.Name, isOnEveryNode ? row.NodeID : '')
  const placed = new Map(plan.placements.map((row) => [keyOf(row), row]))
  const ended = endedRows(context, job, keyOf)
  const due = dueTimes(context, plan)
  const failed = plan.evaluation.FailedTGAllocs ?? {}
  const deployment = view.latestDeployment(job.Namespace, job.ID)
  return (name, nodeId) => {
    const key = keyFor(name, nodeId)
    const row = placed.get(key)
    if (row !== undefined) return willBePlaced(row)
    const before = ended.get(key)
    const dueIso = before === undefined ? undefined : due(before)
    if (before !== undefined && dueIso !== undefined) return delayed(before, dueIso)
    if (Object.hasOwn(failed, groupOf(job, name))) return undefined
    return held(before, ownDeployment(deployment, job))
  }
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

function held(
  before: AllocationRow | undefined,
  deployment: Deployment | undefined,
): KnownInstance {
  return {
    State: 'held',
    PreviousAllocation: before?.ID ?? '',
    Text: deploymentText(deployment) ?? endText(before),
  }
}

function endText(before: AllocationRow | undefined): string {
  return before === undefined
    ? 'the scheduler does not place it now'
    : `the one before it is ${before.ClientStatus} and is not placed again`
}

/** What a deployment has to do with it; undefined when that is done with. */
function deploymentText(deployment: Deployment | undefined): string | undefined {
  if (deployment === undefined || deployment.Status === 'successful') return undefined
  if (deployment.Status === 'paused') return 'its deployment is paused'
  if (!isActiveDeployment(deployment)) return `its deployment is ${deployment.Status}`
  return awaitsPromotion(deployment)
    ? 'its deployment waits until its canaries are promoted'
    : 'its deployment lets it start when those before it are healthy'
}
