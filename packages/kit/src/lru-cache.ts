export interface LruCacheOptions<K, V> {
  /** Maximum number of entries or, with `weigh`, maximum total weight. */
  readonly weightMax: number
  readonly weigh?: (key: K, value: V) => number
  /** Maximum number of entries in addition to the weight limit. */
  readonly countMax?: number
}

/** A bounded map that evicts the least recently used entries. */
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

  /** Marks the entry as recently used. */
  get(key: K): V | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    // A `Map` keeps insertion order, so the first key is the least recently used.
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    return entry.value
  }

  /** An entry that is heavier than the limit evicts all others and is stored alone. */
  set(key: K, value: V): void {
    const weight = this.#options.weigh?.(key, value) ?? 1
    this.delete(key)
    this.evictFor(weight)
    this.#entries.set(key, { value, weight })
    this.#weight += weight
  }

  /**
   * Evicts entries until one of this weight fits. Call it before computing a value that takes
   * memory.
   */
  evictFor(weight: number): void {
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
