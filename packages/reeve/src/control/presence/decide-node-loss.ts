import type { Job, JobNodeLoss, JobQuarantine } from '@reeve/contract'
import { msFromNs, nsFromMs } from '@reeve/kit/duration.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { isServerTerminal, LIMITS, type AllocationRow } from '../../model/index.ts'

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

export interface NodeLossInput {
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
