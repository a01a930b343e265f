import { LruCache } from '@reeve/kit/lru-cache.ts'

const ENTRIES_MAX = 1_000

/** Values that are computed again when what they depend on has another version. */
export class Remembered<T> {
  readonly #cache: LruCache<string, { readonly version: string; readonly value: T }>

  constructor(entriesMax = ENTRIES_MAX) {
    this.#cache = new LruCache({ weightMax: entriesMax })
  }

  find(key: string, version: string, compute: () => T): T {
    const cached = this.#cache.get(key)
    if (cached?.version === version) return cached.value
    const value = compute()
    this.#cache.set(key, { version, value })
    return value
  }
}
