export interface LruCacheOptions<K, V> {
  /** Entries, or with `weigh` the sum of their weights. */
  readonly weightMax: number
  readonly weigh?: (key: K, value: V) => number
  /** Entries, where weights alone would allow too many small ones. */
  readonly countMax?: number
}

/** A bounded map that evicts the entries which were not used for the longest time. */
export class LruCache<K, V> {
  readonly #entries = new Map<K, { readonly value: V; readonly weight: number }>()
  readonly #options: LruCacheOptions<K, V>
  #weight = 0

  constructor(options: LruCacheOptions<K, V>) {
    this.#options = options
  }

  get size(): number {
    return this.#entries.size
  }

  /** Counts as a use. */
  get(key: K): V | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    // Maps keep the order of insertion, so the first key is the one to evict.
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    return entry.value
  }

  /** An entry that is heavier than the whole cache is stored alone. */
  set(key: K, value: V): void {
    const weight = this.#options.weigh?.(key, value) ?? 1
    this.delete(key)
    this.makeRoom(weight)
    this.#entries.set(key, { value, weight })
    this.#weight += weight
  }

  /** Evicts until an entry of this weight fits: before it is computed, where that takes memory. */
  makeRoom(weight: number): void {
    const { weightMax, countMax = Infinity } = this.#options
    for (const oldest of this.#entries.keys()) {
      if (this.#weight + weight <= weightMax && this.#entries.size < countMax) return
      this.delete(oldest)
    }
  }

  delete(key: K): void {
    this.#weight -= this.#entries.get(key)?.weight ?? 0
    this.#entries.delete(key)
  }

  clear(): void {
    this.#entries.clear()
    this.#weight = 0
  }
}
