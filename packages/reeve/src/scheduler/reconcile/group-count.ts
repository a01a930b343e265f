import { isServerTerminal, type AllocationRow } from '../../model/index.ts'
import { nameIndexOf } from './allocation-state.ts'
import type { ClassifiedAllocations } from './classify.ts'

/**
 * Name indexes of a group: new allocations take the lowest free ones below the count, replacements
 * keep theirs.
 */
export class AllocNameIndex {
  readonly #count: number
  /** Number of holders of each index; two are possible, for example after a promotion. */
  readonly #holders = new Map<number, number>()
  #searchStart = 0

  constructor(count: number, taken: Iterable<number>) {
    this.#count = count
    for (const index of taken) this.#addHolder(index)
  }

  /** Returns the given index if it is free and below the count, otherwise the lowest free one. */
  claim(preferred: number | undefined): number {
    const index =
      preferred !== undefined && this.#isFree(preferred) ? preferred : this.#lowestFree()
    this.#addHolder(index)
    return index
  }

  /**
   * Returns the index for the replacement of an allocation: its predecessor's, unless another
   * allocation also holds it.
   */
  inherit(index: number): number {
    const holders = this.#holders.get(index) ?? 0
    if (holders <= 1) return index
    this.#holders.set(index, holders - 1)
    return this.claim(undefined)
  }

  #addHolder(index: number): void {
    this.#holders.set(index, (this.#holders.get(index) ?? 0) + 1)
  }

  #isFree(index: number): boolean {
    return index >= 0 && index < this.#count && !this.#holders.has(index)
  }

  /** Indexes are not released, so the search continues where it ended. */
  #lowestFree(): number {
    while (this.#holders.has(this.#searchStart)) this.#searchStart += 1
    return this.#searchStart
  }
}

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
