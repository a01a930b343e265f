import type { Evaluation, Job } from '@reeve/contract'
import type { IdSource } from '@reeve/kit/clock.ts'
import { isoFromMs, msFromNs } from '@reeve/kit/duration.ts'
import { LIMITS, newEvaluation, type AllocationRow, type NodeRow } from '../../model/index.ts'
import { namespacedKey, put, type Change, type Stamp, type Tables } from '../../state/index.ts'
import {
  decideNodeLoss,
  hasStartedHarmlessly,
  withNodeLoss,
  wasStarting,
  type NodeLossConsequence,
  type LostNode,
  type StartingJob,
} from './decide-node-loss.ts'
import { nonTerminalOn } from './node-facts.ts'

/** The message of the node event that records a loss. */
export const HEARTBEAT_MISSED = 'Node heartbeat missed'
/** Detail of that event: how many jobs were starting on the node. */
const STARTING_JOBS = 'starting_jobs'

export interface NodeLoss {
  readonly consequences: readonly NodeLossConsequence[]
  /** Details for the node event. */
  readonly details: Readonly<Record<string, string>>
}

/** Computes the consequences of a node loss for the jobs that were starting on it. */
export function computeNodeLoss(
  tables: Tables,
  node: LostNode,
  { index, timeMs }: Stamp,
): NodeLoss {
  const starting = startingJobs(tables, node, timeMs)
  const unexplainedLosses = (): number => countUnexplainedLosses(tables, node, timeMs)
  const consequences = decideNodeLoss({ node, starting, unexplainedLosses, nowMs: timeMs, index })
  return { consequences, details: { [STARTING_JOBS]: String(starting.length) } }
}

/** Job rows, and the evaluations that place the jobs again after their delays. */
export function nodeLossChanges(
  consequences: readonly NodeLossConsequence[],
  { timeMs }: Stamp,
  ids: IdSource,
): Change[] {
  return consequences.flatMap((consequence) => [
    put('jobs', withNodeLoss(consequence, timeMs)),
    ...delayedEvaluations(consequence, timeMs, ids).map((row) => put('evaluations', row)),
  ])
}

function startingJobs(tables: Tables, node: LostNode, nowMs: number): readonly StartingJob[] {
  const jobs = new Map<string, { readonly job: Job; readonly allocations: AllocationRow[] }>()
  for (const id of nonTerminalOn(tables, node.id)) {
    const row = tables.allocations.get(id)
    if (!wasStarting(row, node)) continue
    const key = namespacedKey(row.Namespace, row.JobID)
    const existing = jobs.get(key)
    const job = existing?.job ?? tables.jobs.find(key)
    // Only the current version is blamed.
    if (job === undefined || job.Stop || !isOfVersion(row, job)) continue
    if (existing === undefined) jobs.set(key, { job, allocations: [row] })
    else existing.allocations.push(row)
  }
  return [...jobs.entries()].map(([key, { job, allocations }]) => ({
    job,
    allocations,
    harmlessNodes: (max) => countHarmlessNodes(tables, { key, job, max }, nowMs),
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
 * Counts ready nodes on which the version has started. Inspects a bounded number of rows, which is
 * enough for jobs with many allocations.
 */
function countHarmlessNodes(
  tables: Tables,
  { key, job, max }: HarmlessQuery,
  nowMs: number,
): number {
  const { allocations, nodes } = tables
  const nodeIds = new Set<string>()
  let inspected = 0
  for (const id of allocations.keysByIndex('job', key)) {
    if (nodeIds.size >= max || inspected >= LIMITS.harmlessAllocationsMax) break
    inspected += 1
    const row = allocations.get(id)
    const isUp = nodes.find(row.NodeID)?.Status === 'ready'
    if (isUp && isOfVersion(row, job) && hasStartedHarmlessly(row, nowMs)) nodeIds.add(row.NodeID)
  }
  return nodeIds.size
}

/** Counts other nodes that were lost in the window while nothing was starting on them. */
function countUnexplainedLosses({ nodes }: Tables, { id }: LostNode, nowMs: number): number {
  const sinceMs = nowMs - LIMITS.nodeLossWindowMs
  let count = 0
  for (const key of nodes.keysByIndex('down', 'yes'))
    if (key !== id && isUnexplained(nodes.get(key), sinceMs)) count += 1
  return count
}

function isUnexplained({ StatusUpdatedAt, Events }: NodeRow, sinceMs: number): boolean {
  if (StatusUpdatedAt * 1_000 < sinceMs) return false
  const event = Events.findLast(({ Message }) => Message === HEARTBEAT_MISSED)
  return event?.Details?.[STARTING_JOBS] === '0'
}

/**
 * Evaluations for the time when a single allocation may be placed, and for when all others may
 * follow.
 */
function delayedEvaluations(
  { job, loss, quarantine }: NodeLossConsequence,
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
