import type { Evaluation, Job, JobNodeLoss, JobQuarantine } from '@reeve/contract'
import type { IdSource } from '@reeve/kit/clock.ts'
import { isoFromMs, msFromNs, nsFromMs } from '@reeve/kit/duration.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import {
  isServerTerminal,
  LIMITS,
  type AllocationRow,
  newEvaluation,
  type NodeRow,
} from '../model/index.ts'
import { reconnectDeadlineMs } from '../scheduler/index.ts'
import {
  namespacedKey,
  put,
  type Change,
  type Stamp,
  type Tables,
  jobVersionKey,
} from '../state/index.ts'

/** A node that has just been marked down or disconnected. */
export interface LostNode {
  readonly id: string
  /** When the servers last received a message from it. */
  readonly lastContactMs: number
  /** Time at which its next heartbeat was due. */
  readonly heartbeatDueMs: number
  /** Time until the loss of a node is detected. */
  readonly detectionMs: number
}

/** A job that was starting on the lost node. */
export interface StartingJob {
  readonly job: Job
  /** Allocations of the job that were starting there; at least one. */
  readonly allocations: readonly AllocationRow[]
  /** Nodes on which the same version has started without harm, counted up to `max`. */
  readonly harmlessNodes: (max: number) => number
}

interface NodeLossInput {
  readonly node: LostNode
  readonly starting: readonly StartingJob[]
  /** Nodes that were lost in the same window with nothing starting on them. */
  readonly unexplainedLosses: () => number
  readonly nowMs: number
  /** Index of the commit that marks the node. */
  readonly index: number
}

/** Consequence of a node loss for one job that was starting on it. */
export interface NodeLossConsequence {
  readonly job: Job
  readonly loss: JobNodeLoss
  readonly quarantine: JobQuarantine | undefined
}

/**
 * Decides which of the jobs that were starting on a lost node are delayed, and which one is
 * quarantined (decision 0061 gives the reasons):
 *
 * - A job that has started without harm on many more nodes is not blamed at all.
 * - Every other one is delayed, in batches, so that the next loss has fewer suspects.
 * - A job is quarantined when another node was lost with the same version within the window, this
 *   time with an allocation that was placed after that loss, when it is the only such job on the
 *   node, and when fewer nodes were lost with nothing starting on them.
 */
export function decideNodeLoss(input: NodeLossInput): readonly NodeLossConsequence[] {
  const suspects = input.starting
    .map((starting) => newSuspect(starting, input))
    .filter((suspect) => !isExonerated(suspect))
    .toSorted((a, b) => compareText(a.loss.AllocID, b.loss.AllocID))
  const [culprit, ...others] = suspects.filter(({ explainedLosses }) => explainedLosses.length > 0)
  const isCertain =
    culprit !== undefined &&
    others.length === 0 &&
    culprit.explainedLosses.length + 1 > input.unexplainedLosses()
  return suspects.map((suspect, rank) => ({
    job: suspect.starting.job,
    loss: delayedLoss(suspect, rank, input),
    quarantine: isCertain && suspect === culprit ? newQuarantine(suspect, input) : undefined,
  }))
}

interface Suspect {
  readonly starting: StartingJob
  readonly loss: Pick<JobNodeLoss, 'NodeID' | 'AllocID'>
  /** Earlier losses in the window, after which an allocation on this node was placed. */
  readonly earlierLosses: readonly JobNodeLoss[]
  /** Those of other nodes: the job explains them together with this one. */
  readonly explainedLosses: readonly JobNodeLoss[]
}

function newSuspect(starting: StartingJob, { node, nowMs }: NodeLossInput): Suspect {
  const { job, allocations } = starting
  const [first = ''] = allocations.map(({ ID }) => ID).toSorted(compareText)
  // Allocations that were placed before both losses are not suspicious: nodes may fail together.
  const earlierLosses = recentLosses(job, nowMs).filter(({ CreateIndex }) =>
    allocations.some((row) => row.CreateIndex > CreateIndex),
  )
  // Repeated losses of the same node suggest a defective node.
  const explainedLosses = earlierLosses.filter(({ NodeID }) => NodeID !== node.id)
  return { starting, loss: { NodeID: node.id, AllocID: first }, earlierLosses, explainedLosses }
}

function recentLosses({ NodeLosses }: Job, nowMs: number): readonly JobNodeLoss[] {
  return (NodeLosses ?? []).filter(({ Time }) => nowMs - msFromNs(Time) <= LIMITS.nodeLossWindowMs)
}

function isExonerated({ starting, explainedLosses }: Suspect): boolean {
  const required = LIMITS.harmlessNodesPerLoss * (explainedLosses.length + 1)
  return starting.harmlessNodes(required) >= required
}

function delayedLoss(suspect: Suspect, rank: number, input: NodeLossInput): JobNodeLoss {
  const { node, nowMs, index } = input
  const { nodeLossDelayMs, nodeLossDelayMsMax, nodeLossBatches } = LIMITS
  const delayMs = Math.min(nodeLossDelayMs * 2 ** suspect.earlierLosses.length, nodeLossDelayMsMax)
  // A loss caused by one batch is detected before the next batch is placed.
  const batchMs = node.detectionMs + LIMITS.startingRunMsMax
  const retryMs = nowMs + delayMs + (rank % nodeLossBatches) * batchMs
  return {
    ...suspect.loss,
    Time: nsFromMs(nowMs),
    RetryTime: nsFromMs(retryMs),
    ProbeUntil: nsFromMs(retryMs + node.detectionMs + LIMITS.harmlessRunMsMin),
    CreateIndex: index,
  }
}

function newQuarantine(
  { starting, loss, explainedLosses }: Suspect,
  { nowMs, index }: NodeLossInput,
): JobQuarantine {
  const { Version } = starting.job
  const NodeIDs = [...explainedLosses.map(({ NodeID }) => NodeID), loss.NodeID]
  return {
    Reason:
      `${NodeIDs.length} nodes were lost while allocations of version ${Version} ` +
      `were starting on them: ${NodeIDs.join(', ')}`,
    NodeIDs,
    Time: nsFromMs(nowMs),
    Version,
    CreateIndex: index,
  }
}

/** Adds the node loss, and the quarantine if any, to the job row. */
export function withNodeLoss({ job, loss, quarantine }: NodeLossConsequence, nowMs: number): Job {
  // A new loss of a node replaces its earlier one.
  const others = recentLosses(job, nowMs).filter(({ NodeID }) => NodeID !== loss.NodeID)
  const NodeLosses = [...others, loss].slice(-LIMITS.jobNodeLossesMax)
  return { ...job, NodeLosses, ...(quarantine === undefined ? {} : { Quarantine: quarantine }) }
}

/**
 * True if an allocation may have caused the loss of its node: the node may have received it, and it
 * had not run for long at the last contact.
 */
export function wasStarting(row: AllocationRow, node: LostNode): boolean {
  if (isServerTerminal(row) || msFromNs(row.CreateTime) >= node.heartbeatDueMs) return false
  if (row.ClientStatus === 'pending') return true
  if (row.ClientStatus !== 'running') return false
  const startedMs = startedAtMs(row)
  return startedMs !== undefined && startedMs > node.lastContactMs - LIMITS.startingRunMsMax
}

/** True if an allocation has started and its node has survived that. */
export function hasStartedHarmlessly(row: AllocationRow, nowMs: number): boolean {
  if (row.ClientStatus === 'complete') return true
  if (row.ClientStatus !== 'running') return false
  const startedMs = startedAtMs(row)
  return startedMs !== undefined && startedMs <= nowMs - LIMITS.harmlessRunMsMin
}

/** Start time of its last started task, by the clock of the node. */
function startedAtMs({ TaskStates }: AllocationRow): number | undefined {
  const times = Object.values(TaskStates ?? {})
    .map(({ StartedAt }) => Date.parse(StartedAt ?? ''))
    .filter((ms) => ms > 0)
  return times.length === 0 ? undefined : Math.max(...times)
}

/** The message of the node event that records a loss. */
export const HEARTBEAT_MISSED = 'Node heartbeat missed'
/** Detail of that event: how many jobs were starting on the node. */
const STARTING_JOBS = 'starting_jobs'

interface NodeLoss {
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

/** IDs of the non-terminal allocations of a node. */
export function nonTerminalOn({ allocations }: Tables, nodeId: string): readonly string[] {
  return [...allocations.keysByIndex('node', nodeId)].filter(
    (id) => allocations.indexKeyOf('live', id) !== undefined,
  )
}

/**
 * Latest time until which an allocation on a disconnected node may reconnect; undefined if none
 * can.
 */
export function latestReconnectDeadlineMs(
  tables: Tables,
  nodeId: string,
  nowMs: number,
): number | undefined {
  let latestMs: number | undefined
  for (const id of nonTerminalOn(tables, nodeId)) {
    const row = tables.allocations.get(id)
    const key = jobVersionKey(row.Namespace, row.JobID, row.JobVersion)
    const groups = tables.job_versions.find(key)?.TaskGroups ?? []
    const group = groups.find((one) => one.Name === row.TaskGroup)
    const deadlineMs = group === undefined ? undefined : reconnectDeadlineMs(row, group, nowMs)
    if (deadlineMs !== undefined) latestMs = Math.max(latestMs ?? 0, deadlineMs)
  }
  return latestMs
}
