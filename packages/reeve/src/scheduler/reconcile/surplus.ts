import { isServerTerminal, type AllocationRow } from '../../model/index.ts'
import type { ClassifiedAllocations } from './classify.ts'
import { nameIndexOf } from './row-order.ts'

/**
 * Chooses the allocations to stop when there are too many. Order: those whose name index a promoted
 * canary has taken, those that migrate anyway, failed ones, duplicate name indexes, then the
 * highest indexes. Completed work is last: it uses no resources. Unknown allocations do not count,
 * because they cannot be stopped.
 */
export function chooseAllocationsToStop(
  { keep, migrate }: Pick<ClassifiedAllocations, 'keep' | 'migrate'>,
  count: number,
  promoted: ReadonlySet<string>,
): ReadonlySet<AllocationRow> {
  const present = [...keep.filter((row) => row.ClientStatus !== 'unknown'), ...migrate]
  const excess = present.length - count
  if (excess <= 0) return new Set()
  const mustMove = new Set(migrate)
  const canaryIndexes = new Set(present.filter((row) => promoted.has(row.ID)).map(nameIndexOf))
  const seenIndexes = new Set<number>()
  const ranked = present.map((row, position) => {
    const index = nameIndexOf(row)
    const hasPromotedCanary = !promoted.has(row.ID) && canaryIndexes.has(index)
    const goesFirst = hasPromotedCanary || mustMove.has(row) || row.ClientStatus === 'failed'
    const isDuplicateIndex = seenIndexes.has(index)
    // Allocations that are stopped first do not count as holders of their index.
    if (!goesFirst) seenIndexes.add(index)
    const rank = stopRank(row, { isDuplicateIndex, hasPromotedCanary, mustMove: mustMove.has(row) })
    return { row, index, position, rank }
  })
  const order = ranked.toSorted(
    (a, b) => b.rank - a.rank || b.index - a.index || b.position - a.position,
  )
  return new Set(order.slice(0, excess).map(({ row }) => row))
}

interface StopTraits {
  readonly isDuplicateIndex: boolean
  readonly hasPromotedCanary: boolean
  readonly mustMove: boolean
}

function stopRank(
  row: AllocationRow,
  { isDuplicateIndex, hasPromotedCanary, mustMove }: StopTraits,
): number {
  if (row.ClientStatus === 'complete') return 0
  if (hasPromotedCanary) return 5
  if (mustMove) return 4
  if (row.ClientStatus === 'failed') return 3
  return isDuplicateIndex ? 2 : 1
}

/** False for completed and already stopped allocations. */
export function canBeStopped(row: AllocationRow): boolean {
  return !isServerTerminal(row) && row.ClientStatus !== 'complete'
}
