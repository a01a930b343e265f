import type { Evaluation, Job } from '@reeve/contract'
import type { IdSource } from '@reeve/kit/clock.ts'
import { isoFromMs, msFromNs } from '@reeve/kit/duration.ts'
import { LIMITS, newEvaluation, type AllocationRow, type NodeRow } from '../../model/index.ts'
import { namespacedKey, put, type Change, type Stamp, type Tables } from '../../state/index.ts'
import {
  decideNodeLoss,
  hasStartedHarmlessly,
  jobAfterLoss,
  wasStarting,
  type JobConsequence,
  type LostNode,
  type StartingJob,
} from './decide-node-loss.ts'
import { liveOn } from './node-facts.ts'

/** The message of the node event that records a loss. */
export const HEARTBEAT_MISSED = 'Node heartbeat missed'
/** Detail of that event: how many jobs were starting on the node. */
const STARTING_JOBS = 'starting_jobs'

export interface NodeLoss {
  readonly consequences: readonly JobConsequence[]
  /** For the event of the node. */
  readonly details: Readonly<Record<string, string>>
}

/** What the loss of a node means for the jobs that were starting on it. */
export function nodeLoss(tables: Tables, node: LostNode, { index, timeMs }: Stamp): NodeLoss {
  const starting = startingJobs(tables, node, timeMs)
  const unexplainedLosses = (): number => countUnexplained(tables, node, timeMs)
  const consequences = decideNodeLoss({ node, starting, unexplainedLosses, nowMs: timeMs, index })
  return { consequences, details: { [STARTING_JOBS]: String(starting.length) } }
}

/** The rows of the jobs, and the evaluations that place them again when their delays are over. */
export function nodeLossRows(
  consequences: readonly JobConsequence[],
  { timeMs }: Stamp,
  ids: IdSource,
): Change[] {
  return consequences.flatMap((consequence) => [
    put('jobs', jobAfterLoss(consequence, timeMs)),
    ...delayedEvaluations(consequence, timeMs, ids).map((row) => put('evaluations', row)),
  ])
}

function startingJobs(tables: Tables, node: LostNode, nowMs: number): readonly StartingJob[] {
  const jobs = new Map<string, { readonly job: Job; readonly allocations: AllocationRow[] }>()
  for (const id of liveOn(tables, node.id)) {
    const row = tables.allocations.get(id)
    if (!wasStarting(row, node)) continue
    const key = namespacedKey(row.Namespace, row.JobID)
    const known = jobs.get(key)
    const job = known?.job ?? tables.jobs.find(key)
    // A newer version is not blamed for what an older one did.
    if (job === undefined || job.Stop || !isOfVersion(row, job)) continue
    if (known === undefined) jobs.set(key, { job, allocations: [row] })
    else known.allocations.push(row)
  }
  return [...jobs.entries()].map(([key, { job, allocations }]) => ({
    job,
    allocations,
    harmlessNodes: (max) => countHarmless(tables, { key, job, max }, nowMs),
  }))
}

function isOfVersion(row: AllocationRow, job: Job): boolean {
  return row.JobVersion === job.Version && row.CreateIndex >= job.CreateIndex
}

interface HarmlessQuery {
  readonly key: string
  readonly job: Job
  readonly max: number
}

/**
 * Nodes that are up and on which the version has started. Inspects a bounded number of rows: a job
 * with tens of thousands of allocations has enough of them among the first.
 */
function countHarmless(tables: Tables, { key, job, max }: HarmlessQuery, nowMs: number): number {
  const { allocations, nodes } = tables
  const found = new Set<string>()
  let inspected = 0
  for (const id of allocations.keysIn('job', key)) {
    if (found.size >= max || inspected >= LIMITS.harmlessAllocationsMax) break
    inspected += 1
    const row = allocations.get(id)
    const isUp = nodes.find(row.NodeID)?.Status === 'ready'
    if (isUp && isOfVersion(row, job) && hasStartedHarmlessly(row, nowMs)) found.add(row.NodeID)
  }
  return found.size
}

/** Other nodes that were lost in the window while nothing was starting on them. */
function countUnexplained({ nodes }: Tables, { id }: LostNode, nowMs: number): number {
  const sinceMs = nowMs - LIMITS.nodeLossWindowMs
  let count = 0
  for (const key of nodes.keysIn('down', 'yes'))
    if (key !== id && isUnexplained(nodes.get(key), sinceMs)) count += 1
  return count
}

function isUnexplained({ StatusUpdatedAt, Events }: NodeRow, sinceMs: number): boolean {
  if (StatusUpdatedAt * 1_000 < sinceMs) return false
  const event = Events.findLast(({ Message }) => Message === HEARTBEAT_MISSED)
  return event?.Details?.[STARTING_JOBS] === '0'
}

/** One when placements may begin, with a single allocation, and one when all may follow. */
function delayedEvaluations(
  { job, loss, quarantine }: JobConsequence,
  timeMs: number,
  ids: IdSource,
): readonly Evaluation[] {
  if (quarantine !== undefined) return []
  return [loss.RetryTime, loss.ProbeUntil].map((dueNs) => ({
    ...newEvaluation(job, {
      id: ids.uuid(),
      trigger: 'node-update',
      timeMs,
      jobModifyIndex: job.JobModifyIndex,
    }),
    NodeID: loss.NodeID,
    WaitUntil: isoFromMs(msFromNs(dueNs)),
    StatusDescription: `waits because node ${loss.NodeID} was lost while the job was starting on it`,
  }))
}
