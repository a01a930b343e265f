import type { DisconnectStrategy, Job, TaskGroup } from '@reeve/contract'
import { ZERO_TIME } from '@reeve/kit/duration.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import {
  isClientTerminal,
  isServerTerminal,
  type AllocationRow,
  type PublicNode,
  decodeTopScores,
  isTerminal,
} from '../../model/index.ts'
import {
  connectionState,
  isFromOlderVersion,
  isMarkedForMigration,
  isReconnecting,
  isReplaced,
  isReplacementDisabled,
  lostReplacement,
  sortByNameIndex,
  STOP_DESCRIPTIONS,
  unknownSinceMs,
  vacatesSlot,
} from './allocation-state.ts'
import type { Stop } from './reconcile-result.ts'
import { decideReschedule } from './reschedule.ts'

/** Allocations of one group by classification. Each list keeps the given order. */
export interface ClassifiedAllocations {
  /** Count towards the group and stay. */
  readonly keep: readonly AllocationRow[]
  /** Marked for migration. */
  readonly migrate: readonly AllocationRow[]
  /** Lost with their node. */
  readonly lost: readonly AllocationRow[]
  /** Stopped as lost earlier; may be replaced now. */
  readonly lostAwaitingReplacement: readonly AllocationRow[]
  /** Failed; may be rescheduled now. */
  readonly rescheduleNow: readonly AllocationRow[]
  /** On a disconnected node; replaced now although they may still run there. */
  readonly disconnectReplaceNow: readonly AllocationRow[]
  /** Failed; stay among `keep` until they may be rescheduled. */
  readonly rescheduleLater: readonly DelayedReschedule[]
  /** Failed; rescheduled when their deployment allows it. Also among `keep`. */
  readonly heldByDeployment: readonly AllocationRow[]
  /** Become unknown now. Also in `keep` or in the list for immediate replacement, or in neither. */
  readonly disconnecting: readonly AllocationRow[]
  /** On a disconnected node; replaced later. */
  readonly disconnectReplaceLater: readonly DelayedReschedule[]
  /** Unknown already; replaced later. */
  readonly unknownReplaceLater: readonly DelayedReschedule[]
  /** Were unknown; their node has reconnected. */
  readonly reconnecting: readonly AllocationRow[]
  /** True if a lost allocation may still run, so that nothing may be placed yet. */
  readonly mustWaitForLost: boolean
}

export interface DelayedReschedule {
  readonly row: AllocationRow
  readonly dueMs: number
}

interface ClassifyContext {
  readonly job: Job
  readonly group: TaskGroup
  /** Null: allocations are lost immediately when their node disconnects. */
  readonly disconnect: DisconnectStrategy | null
  readonly findNode: (id: string) => PublicNode | undefined
  readonly nowMs: number
  readonly evaluationIds: ReadonlySet<string>
  readonly isPendingEvaluation: (evaluationId: string) => boolean
  /** Active deployment, which decides when its failed allocations are replaced. */
  readonly activeDeploymentId: string | undefined
}

type DelayedListName = 'rescheduleLater' | 'disconnectReplaceLater' | 'unknownReplaceLater'
type ImmediateListName = Exclude<
  keyof ClassifiedAllocations,
  DelayedListName | 'mustWaitForLost' | 'heldByDeployment'
>
type Classification =
  | Exclude<ImmediateListName, 'disconnecting'>
  | 'ignore'
  | 'wait'
  | 'held'
  | { readonly in: DelayedListName; readonly dueMs: number }

/** Classifies each allocation by the first rule that applies. */
export function classify(
  rows: readonly AllocationRow[],
  context: ClassifyContext,
): ClassifiedAllocations {
  const lists: Record<ImmediateListName, AllocationRow[]> = {
    keep: [],
    migrate: [],
    lost: [],
    lostAwaitingReplacement: [],
    rescheduleNow: [],
    disconnectReplaceNow: [],
    disconnecting: [],
    reconnecting: [],
  }
  const deferred: Record<DelayedListName, DelayedReschedule[]> = {
    rescheduleLater: [],
    disconnectReplaceLater: [],
    unknownReplaceLater: [],
  }
  const held: AllocationRow[] = []
  let isWaiting = false
  for (const row of rows) {
    const { classification, disconnects } = classifyRow(row, context)
    if (disconnects === true) lists.disconnecting.push(row)
    if (classification === 'wait') isWaiting = true
    else if (typeof classification === 'object') {
      lists.keep.push(row)
      deferred[classification.in].push({ row, dueMs: classification.dueMs })
    } else if (classification === 'held') {
      lists.keep.push(row)
      held.push(row)
    } else if (classification !== 'ignore') lists[classification].push(row)
  }
  return { ...lists, ...deferred, heldByDeployment: held, mustWaitForLost: isWaiting }
}

interface RowClassification {
  readonly classification: Classification
  readonly disconnects?: boolean
}

function classifyRow(row: AllocationRow, context: ClassifyContext): RowClassification {
  if (isServerTerminal(row)) return { classification: classifyStopped(row, context) }
  if (isClientTerminal(row)) return { classification: classifyTerminal(row, context) }
  const { disconnect, nowMs, findNode } = context
  const connection = connectionState(row, { disconnect, nowMs, node: findNode(row.NodeID) })
  switch (connection) {
    case 'lost':
      return { classification: 'lost' }
    case 'disconnecting':
      return { classification: classifyDisconnected(row, context, nowMs), disconnects: true }
    case 'unknown': {
      const sinceMs = unknownSinceMs(row) ?? nowMs
      const classification = classifyDisconnected(row, context, sinceMs)
      if (typeof classification !== 'object') return { classification }
      // If the clock was set back, the delay starts in the future.
      const aheadMs = Math.max(0, sinceMs - nowMs)
      return {
        classification: { in: 'unknownReplaceLater', dueMs: classification.dueMs + aheadMs },
      }
    }
    case 'here':
      if (isMarkedForMigration(row)) return { classification: 'migrate' }
      return { classification: isReconnecting(row) ? 'reconnecting' : 'keep' }
  }
}

/** Classifies an allocation that the servers have stopped. */
function classifyStopped(row: AllocationRow, context: ClassifyContext): Classification {
  const { job } = context
  if (isReplacementDisabled(row)) return vacatesSlot(row, job) ? 'ignore' : 'keep'
  const replacement = lostReplacement(row, context)
  if (replacement !== 'none') return replacement === 'wait' ? 'wait' : 'lostAwaitingReplacement'
  return job.Type === 'batch' && isBatchWorkComplete(row, job) ? 'keep' : 'ignore'
}

/**
 * True if a batch allocation of this version completed successfully. A stopped one counts if it
 * ended before the stop reached it.
 */
export function isBatchWorkComplete(row: AllocationRow, job: Job): boolean {
  if (row.ClientStatus !== 'complete' || isReplaced(row) || isFromOlderVersion(row, job))
    return false
  if (!isServerTerminal(row)) return true
  return row.DesiredTransition?.Reschedule !== true && !wasKilled(row)
}

/**
 * True if a task was killed. A killed task can end with status `complete`, so its events are
 * checked.
 */
function wasKilled(row: AllocationRow): boolean {
  const tasks = Object.values(row.TaskStates ?? {})
  if (tasks.length === 0) return true
  return tasks.some((task) =>
    (task.Events ?? []).some((event) => event.Type === 'Killing' || event.Type === 'Killed'),
  )
}

/** Classifies an allocation that has terminated on its node although it should run. */
function classifyTerminal(row: AllocationRow, context: ClassifyContext): Classification {
  const { job } = context
  // It failed while its node was disconnected, and was replaced since.
  if (row.ClientStatus === 'failed' && isReconnecting(row) && isReplaced(row)) return 'reconnecting'
  if (row.DeploymentStatus?.Canary === true && isMarkedForMigration(row)) return 'migrate'
  if (isReplaced(row)) return 'ignore'
  // A new version of a batch job runs again even if the old one has completed.
  if (job.Type === 'batch' && isFromOlderVersion(row, job)) return 'ignore'
  if (row.ClientStatus !== 'failed') return job.Type === 'batch' ? 'keep' : 'ignore'
  const decision = decideReschedule(row, { ...context, policy: context.group.ReschedulePolicy })
  if (decision.when === 'now') return 'rescheduleNow'
  if (decision.when === 'held') return 'held'
  return decision.when === 'later' ? { in: 'rescheduleLater', dueMs: decision.dueMs } : 'keep'
}

/**
 * Classifies an allocation on a disconnected node: replaced now, later or not. No deployment has to
 * allow it, because the version did not fail.
 */
function classifyDisconnected(
  row: AllocationRow,
  context: ClassifyContext,
  failedMs: number,
): Classification {
  if (context.disconnect?.Replace === false) return 'keep'
  if (isReplaced(row)) return 'ignore'
  const policy = context.group.ReschedulePolicy
  const { nowMs, evaluationIds, isPendingEvaluation } = context
  const decision = decideReschedule(row, {
    nowMs,
    evaluationIds,
    isPendingEvaluation,
    policy,
    disconnectedMs: failedMs,
  })
  if (decision.when === 'now') return 'disconnectReplaceNow'
  return decision.when === 'later'
    ? { in: 'disconnectReplaceLater', dueMs: decision.dueMs }
    : 'keep'
}

interface ReconnectResult {
  readonly classified: ClassifiedAllocations
  readonly stops: readonly Stop[]
  /** Reconnected allocations that stay. */
  readonly reconnected: readonly AllocationRow[]
}

/**
 * Decides between reconnected allocations and their replacements. One side of each pair is stopped;
 * the others count like any allocation.
 */
export function reconcileReconnecting(
  classified: ClassifiedAllocations,
  rows: readonly AllocationRow[],
  context: { readonly job: Job; readonly group: TaskGroup },
): ReconnectResult {
  if (classified.reconnecting.length === 0) return { classified, stops: [], reconnected: [] }
  const byId = new Map(rows.map((row) => [row.ID, row]))
  const stops: Stop[] = []
  const reconnected: AllocationRow[] = []
  for (const original of classified.reconnecting) {
    const replacements = successorsOf(original, byId).filter((row) => !isTerminal(row))
    if (isReplacementPreferred(original, replacements, context)) {
      stops.push({ row: original, reason: STOP_DESCRIPTIONS.replacedWhileDisconnected })
      continue
    }
    reconnected.push(original)
    for (const row of replacements) stops.push({ row, reason: STOP_DESCRIPTIONS.reconnected })
  }
  const stopped = new Set(stops.map((stop) => stop.row))
  const isKept = (row: AllocationRow): boolean => !stopped.has(row)
  return {
    stops,
    reconnected,
    classified: {
      ...classified,
      keep: sortByNameIndex([...classified.keep.filter(isKept), ...reconnected]),
      migrate: classified.migrate.filter(isKept),
      rescheduleLater: classified.rescheduleLater.filter(({ row }) => isKept(row)),
    },
  }
}

/** Chain of replacements of an allocation; a missing link ends it. */
function successorsOf(
  row: AllocationRow,
  byId: ReadonlyMap<string, AllocationRow>,
): readonly AllocationRow[] {
  const chain = new Set<AllocationRow>([row])
  let next = byId.get(row.NextAllocation ?? '')
  while (next !== undefined && !chain.has(next)) {
    chain.add(next)
    next = byId.get(next.NextAllocation ?? '')
  }
  chain.delete(row)
  return [...chain]
}

function isReplacementPreferred(
  original: AllocationRow,
  replacements: readonly AllocationRow[],
  { job, group }: { readonly job: Job; readonly group: TaskGroup },
): boolean {
  if (original.ClientStatus === 'failed' || isFromOlderVersion(original, job)) return true
  const strategy = group.Disconnect?.Reconcile ?? 'best_score'
  return replacements.some((row) => isPreferred(row, original, strategy))
}

function isPreferred(
  replacement: AllocationRow,
  original: AllocationRow,
  strategy: string,
): boolean {
  if (replacement.JobVersion !== original.JobVersion)
    return replacement.JobVersion > original.JobVersion
  switch (strategy) {
    case 'keep_original':
      return false
    case 'keep_replacement':
      return true
    case 'longest_running':
      return startedMs(replacement) < startedMs(original)
    default:
      return hasBetterScore(replacement, original)
  }
}

/** A running allocation beats one that is not; ties keep the original. */
function hasBetterScore(replacement: AllocationRow, original: AllocationRow): boolean {
  const [isReplacementRunning, isOriginalRunning] = [replacement, original].map(
    (row) => row.ClientStatus === 'running',
  )
  if (isReplacementRunning !== isOriginalRunning) return isReplacementRunning === true
  return scoreOf(replacement) > scoreOf(original)
}

function scoreOf(row: AllocationRow): number {
  const best = decodeTopScores(row.Metrics).find(([nodeId]) => nodeId === row.NodeID)
  return best?.[1] ?? 0
}

/** Start time of the oldest task; Infinity if none has started. */
function startedMs(row: AllocationRow): number {
  const starts = Object.values(row.TaskStates ?? {})
    .map((state) => state.StartedAt ?? ZERO_TIME)
    .filter((time) => time !== ZERO_TIME)
    .map((time) => Date.parse(time))
    .filter((time) => Number.isFinite(time))
  return starts.reduce((first, time) => Math.min(first, time), Infinity)
}

/** Allocations due within this window share a follow-up evaluation. */
const BATCH_WINDOW_MS = 5_000

interface FollowUpBatch {
  readonly firstMs: number
  readonly lastMs: number
  readonly rows: readonly AllocationRow[]
}

/** Groups delayed allocations that are due together, earliest first. */
export function batchFollowUps(delayed: readonly DelayedReschedule[]): readonly FollowUpBatch[] {
  const batches: { firstMs: number; lastMs: number; rows: AllocationRow[] }[] = []
  const sorted = delayed.toSorted((a, b) => a.dueMs - b.dueMs || compareText(a.row.ID, b.row.ID))
  for (const { row, dueMs } of sorted) {
    const batch = batches.at(-1)
    if (batch === undefined || dueMs > batch.firstMs + BATCH_WINDOW_MS) {
      batches.push({ firstMs: dueMs, lastMs: dueMs, rows: [row] })
      continue
    }
    batch.rows.push(row)
    batch.lastMs = dueMs
  }
  return batches
}
