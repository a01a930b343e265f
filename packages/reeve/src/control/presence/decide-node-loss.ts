import type { Job, JobNodeLoss, JobQuarantine } from '@reeve/contract'
import { msFromNs, nsFromMs } from '@reeve/kit/duration.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { isServerTerminal, LIMITS, type AllocationRow } from '../../model/index.ts'

/** A node that has just been marked down or disconnected. */
export interface LostNode {
  readonly id: string
  /** When the servers last received a message from it. */
  readonly lastContactMs: number
  /** When its next heartbeat was due: it was gone by then. */
  readonly heartbeatDueMs: number
  /** How long the loss of a node goes unnoticed. */
  readonly noticeMs: number
}

/** A job that was starting on the lost node. */
export interface StartingJob {
  readonly job: Job
  /** Its allocations that were starting there. At least one. */
  readonly allocations: readonly AllocationRow[]
  /** Nodes on which the same version has started without harm, counted up to `max`. */
  readonly harmlessNodes: (max: number) => number
}

export interface NodeLossFacts {
  readonly node: LostNode
  readonly starting: readonly StartingJob[]
  /** Nodes that were lost in the same window with nothing starting on them. */
  readonly unexplainedLosses: () => number
  readonly nowMs: number
  /** Index of the commit that marks the node. */
  readonly index: number
}

/** What the loss of a node means for one job that was starting on it. */
export interface JobConsequence {
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
export function decideNodeLoss(facts: NodeLossFacts): readonly JobConsequence[] {
  const suspects = facts.starting
    .map((starting) => suspectOf(starting, facts))
    .filter((suspect) => !isOutweighed(suspect))
    .toSorted((a, b) => compareText(a.loss.AllocID, b.loss.AllocID))
  const [culprit, ...others] = suspects.filter(({ explained }) => explained.length > 0)
  const isCertain =
    culprit !== undefined &&
    others.length === 0 &&
    culprit.explained.length + 1 > facts.unexplainedLosses()
  return suspects.map((suspect, rank) => ({
    job: suspect.starting.job,
    loss: withDelay(suspect, rank, facts),
    quarantine: isCertain && suspect === culprit ? quarantineOf(suspect, facts) : undefined,
  }))
}

interface Suspect {
  readonly starting: StartingJob
  readonly loss: Pick<JobNodeLoss, 'NodeID' | 'AllocID'>
  /** Earlier losses in the window, after which an allocation on this node was placed. */
  readonly repeated: readonly JobNodeLoss[]
  /** Those of other nodes: the job explains them together with this one. */
  readonly explained: readonly JobNodeLoss[]
}

function suspectOf(starting: StartingJob, { node, nowMs }: NodeLossFacts): Suspect {
  const { job, allocations } = starting
  const [first = ''] = allocations.map(({ ID }) => ID).toSorted(compareText)
  // Nodes that fail together are lost with allocations that were placed before either loss.
  const repeated = recentLosses(job, nowMs).filter(({ CreateIndex }) =>
    allocations.some((row) => row.CreateIndex > CreateIndex),
  )
  // A node that is lost again with the same job may be a bad node.
  const explained = repeated.filter(({ NodeID }) => NodeID !== node.id)
  return { starting, loss: { NodeID: node.id, AllocID: first }, repeated, explained }
}

function recentLosses({ NodeLosses }: Job, nowMs: number): readonly JobNodeLoss[] {
  return (NodeLosses ?? []).filter(({ Time }) => nowMs - msFromNs(Time) <= LIMITS.nodeLossWindowMs)
}

function isOutweighed({ starting, explained }: Suspect): boolean {
  const wanted = LIMITS.harmlessNodesPerLoss * (explained.length + 1)
  return starting.harmlessNodes(wanted) >= wanted
}

function withDelay(suspect: Suspect, rank: number, facts: NodeLossFacts): JobNodeLoss {
  const { node, nowMs, index } = facts
  const { nodeLossDelayMs, nodeLossDelayMsMax, nodeLossBatches } = LIMITS
  const delayMs = Math.min(nodeLossDelayMs * 2 ** suspect.repeated.length, nodeLossDelayMsMax)
  // The loss that one batch causes is noticed before the next batch is placed.
  const batchMs = node.noticeMs + LIMITS.startingRunMsMax
  const retryMs = nowMs + delayMs + (rank % nodeLossBatches) * batchMs
  return {
    ...suspect.loss,
    Time: nsFromMs(nowMs),
    RetryTime: nsFromMs(retryMs),
    ProbeUntil: nsFromMs(retryMs + node.noticeMs + LIMITS.harmlessRunMsMin),
    CreateIndex: index,
  }
}

function quarantineOf(
  { starting, loss, explained }: Suspect,
  { nowMs, index }: NodeLossFacts,
): JobQuarantine {
  const { Version } = starting.job
  const NodeIDs = [...explained.map(({ NodeID }) => NodeID), loss.NodeID]
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

/** The row of a job with what the loss of a node means for it. */
export function jobAfterLoss({ job, loss, quarantine }: JobConsequence, nowMs: number): Job {
  // A node that is lost again replaces its earlier loss.
  const others = recentLosses(job, nowMs).filter(({ NodeID }) => NodeID !== loss.NodeID)
  const NodeLosses = [...others, loss].slice(-LIMITS.jobNodeLossesMax)
  return { ...job, NodeLosses, ...(quarantine === undefined ? {} : { Quarantine: quarantine }) }
}

/**
 * Whether an allocation may have caused the loss of its node: the node may have received it, and it
 * had not run for long when the node was last heard of.
 */
export function wasStarting(row: AllocationRow, node: LostNode): boolean {
  if (isServerTerminal(row) || msFromNs(row.CreateTime) >= node.heartbeatDueMs) return false
  if (row.ClientStatus === 'pending') return true
  if (row.ClientStatus !== 'running') return false
  const startedMs = startedAtMs(row)
  return startedMs !== undefined && startedMs > node.lastContactMs - LIMITS.startingRunMsMax
}

/** Whether an allocation has started on its node, and the node has survived that. */
export function hasStartedHarmlessly(row: AllocationRow, nowMs: number): boolean {
  if (row.ClientStatus === 'complete') return true
  if (row.ClientStatus !== 'running') return false
  const startedMs = startedAtMs(row)
  return startedMs !== undefined && startedMs <= nowMs - LIMITS.harmlessRunMsMin
}

/** When the last of its tasks started, by the clock of its node. */
function startedAtMs({ TaskStates }: AllocationRow): number | undefined {
  const times = Object.values(TaskStates ?? {})
    .map(({ StartedAt }) => Date.parse(StartedAt ?? ''))
    .filter((ms) => ms > 0)
  return times.length === 0 ? undefined : Math.max(...times)
}
