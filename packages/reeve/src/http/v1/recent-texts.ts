/**
 * Caches values derived from rows, by the row object: readers of an allocation read it repeatedly,
 * and a changed row is a new object. The oldest entry is evicted.
 */
export class DerivedValueCache<Row extends object, Made = string> {
  readonly #max: number
  readonly #make: (row: Row) => Made
  readonly #values = new Map<Row, Made>()

  constructor(max: number, make: (row: Row) => Made) {
    this.#max = max
    this.#make = make
  }

  get(row: Row): Made {
    const cached = this.#values.get(row)
    if (cached !== undefined) return cached
    const text = this.#make(row)
    if (this.#values.size >= this.#max) this.#evictOldest()
    this.#values.set(row, text)
    return text
  }

  /** A map iterates its keys in insertion order. */
  #evictOldest(): void {
    const [oldest] = this.#values.keys()
    if (oldest !== undefined) this.#values.delete(oldest)
  }
}
