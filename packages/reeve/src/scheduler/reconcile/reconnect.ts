import type { Job, TaskGroup } from '@reeve/contract'
import { ZERO_TIME } from '@reeve/kit/duration.ts'
import { bestScores, isTerminal, type AllocationRow } from '../../model/index.ts'
import type { Classified } from './classify.ts'
import type { Stop } from './placement.ts'
import { REASONS } from './reasons.ts'
import { isOlder, sortByName } from './row-order.ts'

export interface Reconnected {
  readonly classified: Classified
  readonly stops: readonly Stop[]
  /** Came back and stay. */
  readonly kept: readonly AllocationRow[]
}

/**
 * Allocations whose node is back, against those that stood in for them. One of each pair goes;
 * those that stay count like any other.
 */
export function resolveReturns(
  classified: Classified,
  rows: readonly AllocationRow[],
  context: { readonly job: Job; readonly group: TaskGroup },
): Reconnected {
  if (classified.returning.length === 0) return { classified, stops: [], kept: [] }
  const byId = new Map(rows.map((row) => [row.ID, row]))
  const stops: Stop[] = []
  const kept: AllocationRow[] = []
  for (const original of classified.returning) {
    const substitutes = successorsOf(original, byId).filter((row) => !isTerminal(row))
    if (loses(original, substitutes, context)) {
      stops.push({ row: original, reason: REASONS.stoodIn })
      continue
    }
    kept.push(original)
    for (const row of substitutes) stops.push({ row, reason: REASONS.reconnected })
  }
  const ended = new Set(stops.map((stop) => stop.row))
  const stay = (row: AllocationRow): boolean => !ended.has(row)
  return {
    stops,
    kept,
    classified: {
      ...classified,
      keep: sortByName([...classified.keep.filter(stay), ...kept]),
      migrate: classified.migrate.filter(stay),
      later: classified.later.filter(({ row }) => stay(row)),
    },
  }
}

/** Those that stood in for it, one after the other; a broken chain ends it. */
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

function loses(
  original: AllocationRow,
  substitutes: readonly AllocationRow[],
  { job, group }: { readonly job: Job; readonly group: TaskGroup },
): boolean {
  if (original.ClientStatus === 'failed' || isOlder(original, job)) return true
  const choice = group.Disconnect?.Reconcile ?? 'best_score'
  return substitutes.some((row) => isBetter(row, original, choice))
}

function isBetter(substitute: AllocationRow, original: AllocationRow, choice: string): boolean {
  if (substitute.JobVersion !== original.JobVersion)
    return substitute.JobVersion > original.JobVersion
  switch (choice) {
    case 'keep_original':
      return false
    case 'keep_replacement':
      return true
    case 'longest_running':
      return startedMs(substitute) < startedMs(original)
    default:
      return hasBetterScore(substitute, original)
  }
}

/** One that does not run never takes the place of one that does; equals leave the original. */
function hasBetterScore(substitute: AllocationRow, original: AllocationRow): boolean {
  const [other, own] = [substitute, original].map((row) => row.ClientStatus === 'running')
  if (other !== own) return other === true
  return scoreOf(substitute) > scoreOf(original)
}

function scoreOf(row: AllocationRow): number {
  const best = bestScores(row.Metrics).find(([nodeId]) => nodeId === row.NodeID)
  return best?.[1] ?? 0
}

/** When its oldest task began; never, when none has. */
function startedMs(row: AllocationRow): number {
  const starts = Object.values(row.TaskStates ?? {})
    .map((state) => state.StartedAt ?? ZERO_TIME)
    .filter((time) => time !== ZERO_TIME)
    .map((time) => Date.parse(time))
    .filter((time) => Number.isFinite(time))
  return starts.reduce((first, time) => Math.min(first, time), Infinity)
}
