/**
 * Several heaps of nodes, highest sum on top, ties by lowest node. The heaps share one array; heap
 * `h` has capacity for all nodes that can ever be in it.
 */
export class ScoreHeaps {
  /** Start of each heap in the shared array. */
  readonly #starts: Int32Array
  readonly #sizes: Int32Array
  readonly #nodes: Int32Array
  /** Heap of each node (−1: none) and its position in it. */
  readonly #heapOf: Int32Array
  readonly #positionOf: Int32Array
  readonly #sums: Float64Array

  constructor(nodeCount: number, heapCapacities: readonly number[]) {
    this.#starts = new Int32Array(heapCapacities.length)
    let end = 0
    for (const [heap, capacity] of heapCapacities.entries()) {
      this.#starts[heap] = end
      end += capacity
    }
    this.#sizes = new Int32Array(heapCapacities.length)
    this.#nodes = new Int32Array(end)
    this.#heapOf = new Int32Array(nodeCount).fill(-1)
    this.#positionOf = new Int32Array(nodeCount)
    this.#sums = new Float64Array(nodeCount)
  }

  get count(): number {
    return this.#sizes.length
  }

  sizeOf(heap: number): number {
    return this.#sizes[heap] ?? 0
  }

  /** Node at a position of a heap; its children are at `2 · position + 1` and `+ 2`. */
  nodeAt(heap: number, position: number): number {
    return this.#nodes[(this.#starts[heap] ?? 0) + position] ?? -1
  }

  heapOf(node: number): number {
    return this.#heapOf[node] ?? -1
  }

  sumOf(node: number): number {
    return this.#sums[node] ?? 0
  }

  /** Moves a node into a heap, from its current one if any. */
  put(node: number, heap: number, sum: number): void {
    if (this.#heapOf[node] === heap) {
      const before = this.sumOf(node)
      this.#sums[node] = sum
      if (sum > before) this.#siftUp(heap, this.#positionOf[node] ?? 0, node)
      else if (sum < before) this.#siftDown(heap, this.#positionOf[node] ?? 0, node)
      return
    }
    this.remove(node)
    this.#sums[node] = sum
    this.#heapOf[node] = heap
    const position = this.sizeOf(heap)
    this.#sizes[heap] = position + 1
    this.#siftUp(heap, position, node)
  }

  remove(node: number): void {
    const heap = this.heapOf(node)
    if (heap < 0) return
    const position = this.#positionOf[node] ?? 0
    const last = this.sizeOf(heap) - 1
    const moved = this.nodeAt(heap, last)
    this.#sizes[heap] = last
    this.#heapOf[node] = -1
    if (moved === node) return
    this.#siftUp(heap, position, moved)
    this.#siftDown(heap, this.#positionOf[moved] ?? 0, moved)
  }

  #siftUp(heap: number, from: number, node: number): void {
    const start = this.#starts[heap] ?? 0
    let position = from
    while (position > 0) {
      const parent = (position - 1) >> 1
      const above = this.#nodes[start + parent] ?? 0
      if (!this.#ranksHigher(node, above)) break
      this.#set(start, position, above)
      position = parent
    }
    this.#set(start, position, node)
  }

  #siftDown(heap: number, from: number, node: number): void {
    const start = this.#starts[heap] ?? 0
    const size = this.sizeOf(heap)
    let position = from
    for (let child = 2 * position + 1; child < size; child = 2 * position + 1) {
      let below = this.#nodes[start + child] ?? 0
      const other = this.#nodes[start + child + 1] ?? 0
      if (child + 1 < size && this.#ranksHigher(other, below)) {
        child += 1
        below = other
      }
      if (!this.#ranksHigher(below, node)) break
      this.#set(start, position, below)
      position = child
    }
    this.#set(start, position, node)
  }

  #set(start: number, position: number, node: number): void {
    this.#nodes[start + position] = node
    this.#positionOf[node] = position
  }

  #ranksHigher(a: number, b: number): boolean {
    const sumA = this.#sums[a] ?? 0
    const sumB = this.#sums[b] ?? 0
    return sumA > sumB || (sumA === sumB && a < b)
  }
}

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
