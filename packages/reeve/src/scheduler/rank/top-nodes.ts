import type { ScoreHeaps } from './score-heaps.ts'

export interface RankedNode {
  /** Table row of the node; rows are sorted by ID. */
  readonly row: number
  readonly score: number
}

interface FrontierEntry extends RankedNode {
  readonly heap: number
  readonly position: number
}

/**
 * Returns the best nodes of all heaps, best first, ties by ID. Reads only the tops of the heaps and
 * the children of nodes already taken; the heaps are not changed.
 */
export function topNodes(
  heaps: ScoreHeaps,
  limit: number,
  scoreOf: (node: number, heap: number) => number,
): readonly RankedNode[] {
  const frontier: FrontierEntry[] = []
  const top: RankedNode[] = []
  const consider = (heap: number, position: number): void => {
    if (position >= heaps.sizeOf(heap)) return
    const node = heaps.nodeAt(heap, position)
    const score = scoreOf(node, heap)
    const remaining = limit - top.length
    const last = frontier[remaining - 1]
    if (last !== undefined && !ranksHigher(score, node, last)) return
    insertRanked(frontier, { heap, position, row: node, score }, remaining)
  }
  for (let heap = 0; heap < heaps.count; heap++) consider(heap, 0)
  for (let best = frontier.shift(); best !== undefined; best = frontier.shift()) {
    top.push(best)
    if (top.length === limit) break
    consider(best.heap, 2 * best.position + 1)
    consider(best.heap, 2 * best.position + 2)
  }
  return top
}

/** Inserts into a list sorted best first and limited in length. */
export function insertRanked<T extends RankedNode>(list: T[], entry: T, limit: number): void {
  let at = list.length
  while (at > 0 && ranksHigher(entry.score, entry.row, list[at - 1])) at -= 1
  if (at >= limit) return
  list.splice(at, 0, entry)
  if (list.length > limit) list.pop()
}

function ranksHigher(score: number, node: number, than: RankedNode | undefined): boolean {
  if (than === undefined) return true
  return score > than.score || (score === than.score && node < than.row)
}
