/**
 * Nodes in several heaps, the highest sum on top and among equals the lowest node. All heaps share
 * one array: heap `h` has the room of the nodes that can ever be in it.
 */
export class ScoreHeaps {
  /** Where each heap begins in `#items`. */
  readonly #starts: Int32Array
  readonly #sizes: Int32Array
  readonly #items: Int32Array
  /** Each node's heap, −1 when it is in none, and its place in it. */
  readonly #heapOf: Int32Array
  readonly #placeOf: Int32Array
  readonly #sums: Float64Array

  constructor(nodeCount: number, roomOfHeap: readonly number[]) {
    this.#starts = new Int32Array(roomOfHeap.length)
    let end = 0
    for (const [heap, room] of roomOfHeap.entries()) {
      this.#starts[heap] = end
      end += room
    }
    this.#sizes = new Int32Array(roomOfHeap.length)
    this.#items = new Int32Array(end)
    this.#heapOf = new Int32Array(nodeCount).fill(-1)
    this.#placeOf = new Int32Array(nodeCount)
    this.#sums = new Float64Array(nodeCount)
  }

  get count(): number {
    return this.#sizes.length
  }

  sizeOf(heap: number): number {
    return this.#sizes[heap] ?? 0
  }

  /** The node at a place of a heap; the nodes below it are at `2 · place + 1` and `+ 2`. */
  nodeAt(heap: number, place: number): number {
    return this.#items[(this.#starts[heap] ?? 0) + place] ?? -1
  }

  heapOf(node: number): number {
    return this.#heapOf[node] ?? -1
  }

  sumOf(node: number): number {
    return this.#sums[node] ?? 0
  }

  /** Puts a node into a heap, from whichever it was in. */
  place(node: number, heap: number, sum: number): void {
    if (this.#heapOf[node] === heap) {
      const before = this.sumOf(node)
      this.#sums[node] = sum
      if (sum > before) this.#rise(heap, this.#placeOf[node] ?? 0, node)
      else if (sum < before) this.#sink(heap, this.#placeOf[node] ?? 0, node)
      return
    }
    this.remove(node)
    this.#sums[node] = sum
    this.#heapOf[node] = heap
    const place = this.sizeOf(heap)
    this.#sizes[heap] = place + 1
    this.#rise(heap, place, node)
  }

  remove(node: number): void {
    const heap = this.heapOf(node)
    if (heap < 0) return
    const place = this.#placeOf[node] ?? 0
    const last = this.sizeOf(heap) - 1
    const moved = this.nodeAt(heap, last)
    this.#sizes[heap] = last
    this.#heapOf[node] = -1
    if (moved === node) return
    this.#rise(heap, place, moved)
    this.#sink(heap, this.#placeOf[moved] ?? 0, moved)
  }

  #rise(heap: number, from: number, node: number): void {
    const start = this.#starts[heap] ?? 0
    let place = from
    while (place > 0) {
      const parent = (place - 1) >> 1
      const above = this.#items[start + parent] ?? 0
      if (!this.#isAbove(node, above)) break
      this.#set(start, place, above)
      place = parent
    }
    this.#set(start, place, node)
  }

  #sink(heap: number, from: number, node: number): void {
    const start = this.#starts[heap] ?? 0
    const size = this.sizeOf(heap)
    let place = from
    for (let child = 2 * place + 1; child < size; child = 2 * place + 1) {
      let below = this.#items[start + child] ?? 0
      const other = this.#items[start + child + 1] ?? 0
      if (child + 1 < size && this.#isAbove(other, below)) {
        child += 1
        below = other
      }
      if (!this.#isAbove(below, node)) break
      this.#set(start, place, below)
      place = child
    }
    this.#set(start, place, node)
  }

  #set(start: number, place: number, node: number): void {
    this.#items[start + place] = node
    this.#placeOf[node] = place
  }

  #isAbove(a: number, b: number): boolean {
    const sumA = this.#sums[a] ?? 0
    const sumB = this.#sums[b] ?? 0
    return sumA > sumB || (sumA === sumB && a < b)
  }
}
