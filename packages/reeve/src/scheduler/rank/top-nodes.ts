import type { ScoreHeaps } from './score-heaps.ts'

export interface Ranked {
  /** Place of the node in its table, which is in order of IDs. */
  readonly node: number
  readonly score: number
}

interface Entry extends Ranked {
  readonly heap: number
  readonly place: number
}

/**
 * The best nodes of all heaps, best first, among equals by ID. Only the tops of the heaps and what
 * lies directly below a node that was taken is looked at; nothing is moved.
 */
export function topNodes(
  heaps: ScoreHeaps,
  wanted: number,
  scoreOf: (node: number, heap: number) => number,
): readonly Ranked[] {
  const open: Entry[] = []
  const top: Ranked[] = []
  const offer = (heap: number, place: number): void => {
    if (place >= heaps.sizeOf(heap)) return
    const node = heaps.nodeAt(heap, place)
    const score = scoreOf(node, heap)
    const limit = wanted - top.length
    const last = open[limit - 1]
    if (last !== undefined && !isBetter(score, node, last)) return
    insertRanked(open, { heap, place, node, score }, limit)
  }
  for (let heap = 0; heap < heaps.count; heap++) offer(heap, 0)
  for (let best = open.shift(); best !== undefined; best = open.shift()) {
    top.push(best)
    if (top.length === wanted) break
    offer(best.heap, 2 * best.place + 1)
    offer(best.heap, 2 * best.place + 2)
  }
  return top
}

/** Keeps a list of the best, best first, no longer than the limit. */
export function insertRanked<T extends Ranked>(list: T[], entry: T, limit: number): void {
  let at = list.length
  while (at > 0 && isBetter(entry.score, entry.node, list[at - 1])) at -= 1
  if (at >= limit) return
  list.splice(at, 0, entry)
  if (list.length > limit) list.pop()
}

function isBetter(score: number, node: number, than: Ranked | undefined): boolean {
  if (than === undefined) return true
  return score > than.score || (score === than.score && node < than.node)
}
