import { isServerTerminal, type AllocationRow } from '../../model/index.ts'
import type { Classified } from './classify.ts'
import { indexOf } from './row-order.ts'

/**
 * What goes when there are too many: after a promotion those whose name a canary has taken, then
 * those that must move anyway, then failed ones that nobody replaces, then second holders of a
 * name, then the highest indexes. Finished work goes last: it costs nothing. What is unknown is not
 * counted: nobody could tell it to stop.
 */
export function chooseSurplus(
  { keep, migrate }: Pick<Classified, 'keep' | 'migrate'>,
  count: number,
  promoted: ReadonlySet<string>,
): ReadonlySet<AllocationRow> {
  const present = [...keep.filter((row) => row.ClientStatus !== 'unknown'), ...migrate]
  const excess = present.length - count
  if (excess <= 0) return new Set()
  const mustMove = new Set(migrate)
  const canaryIndexes = new Set(present.filter((row) => promoted.has(row.ID)).map(indexOf))
  const seen = new Set<number>()
  const ranked = present.map((row, position) => {
    const index = indexOf(row)
    const isSucceeded = !promoted.has(row.ID) && canaryIndexes.has(index)
    const leaves = isSucceeded || mustMove.has(row) || row.ClientStatus === 'failed'
    const isSecond = seen.has(index)
    // One that leaves before the others holds no name: who has it as well is the only one.
    if (!leaves) seen.add(index)
    const rank = rankOf(row, { isSecond, isSucceeded, mustMove: mustMove.has(row) })
    return { row, index, position, rank }
  })
  const order = ranked.toSorted(
    (a, b) => b.rank - a.rank || b.index - a.index || b.position - a.position,
  )
  return new Set(order.slice(0, excess).map(({ row }) => row))
}

interface Traits {
  readonly isSecond: boolean
  readonly isSucceeded: boolean
  readonly mustMove: boolean
}

function rankOf(row: AllocationRow, { isSecond, isSucceeded, mustMove }: Traits): number {
  if (row.ClientStatus === 'complete') return 0
  if (isSucceeded) return 5
  if (mustMove) return 4
  if (row.ClientStatus === 'failed') return 3
  return isSecond ? 2 : 1
}

/** Finished work of a batch job is over budget at most on paper. */
export function canBeStopped(row: AllocationRow): boolean {
  return !isServerTerminal(row) && row.ClientStatus !== 'complete'
}
