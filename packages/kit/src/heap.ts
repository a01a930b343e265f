/**
 * Binary heap: the smallest item comes out first. Equal items have no defined order, so a
 * deterministic comparator must end in an id.
 */
export class Heap<T> {
  readonly #items: T[] = []
  readonly #compare: (a: T, b: T) => number

  constructor(compare: (a: T, b: T) => number) {
    this.#compare = compare
  }

  get size(): number {
    return this.#items.length
  }

  /** The smallest item, without removing it. */
  peek(): T | undefined {
    return this.#items[0]
  }

  push(item: T): void {
    const items = this.#items
    let at = items.length
    items.push(item)
    while (at > 0) {
      const parent = (at - 1) >> 1
      // proof: parent < at, and at is an index of the array
      const above = items[parent] as T
      if (this.#compare(item, above) >= 0) break
      items[at] = above
      at = parent
    }
    items[at] = item
  }

  /** Removes and returns the smallest item. */
  pop(): T | undefined {
    const items = this.#items
    const lowest = items[0]
    const size = items.length - 1
    // proof: pop on an array of one or more items; on an empty one the next line returns first
    const moved = items.pop() as T
    if (size <= 0) return lowest
    let at = 0
    for (let child = 1; child < size; child = at * 2 + 1) {
      // proof: child < size, and its sibling is read only when it is < size too
      if (child + 1 < size && this.#compare(items[child + 1] as T, items[child] as T) < 0)
        child += 1
      // proof: both are < size
      const below = items[child] as T
      if (this.#compare(moved, below) <= 0) break
      items[at] = below
      at = child
    }
    items[at] = moved
    return lowest
  }
}
