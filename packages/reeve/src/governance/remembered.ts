import { LruCache } from '@reeve/kit/lru-cache.ts'

const ENTRIES_MAX = 1_000

/** Cache of values with a version: a value is computed again if its version has changed. */
export class VersionedCache<T> {
  readonly #cache: LruCache<string, { readonly version: string; readonly value: T }>

  constructor(entriesMax = ENTRIES_MAX) {
    this.#cache = new LruCache({ weightMax: entriesMax })
  }

  getOrCompute(key: string, version: string, compute: () => T): T {
    const cached = this.#cache.get(key)
    if (cached?.version === version) return cached.value
    const value = compute()
    this.#cache.set(key, { version, value })
    return value
  }
}
