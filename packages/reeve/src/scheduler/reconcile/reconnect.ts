import type { Job, TaskGroup } from '@reeve/contract'
import { ZERO_TIME } from '@reeve/kit/duration.ts'
import { decodeTopScores, isTerminal, type AllocationRow } from '../../model/index.ts'
import type { ClassifiedAllocations } from './classify.ts'
import type { Stop } from './placement.ts'
import { STOP_DESCRIPTIONS } from './reasons.ts'
import { isFromOlderVersion, sortByNameIndex } from './row-order.ts'

export interface ReconnectResult {
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
