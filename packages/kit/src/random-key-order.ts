import { compareText, SortedList } from './sorted-list.ts'

/**
 * Keys with the same first characters share a bucket. Three hexadecimal digits make 4,096 buckets,
 * of 244 keys each when there are a million.
 */
const PREFIX_CHARS = 3

interface Bucket<T> {
  readonly entries: T[]
  isSorted: boolean
}

/**
 * The order of keys that begin at random, as UUIDs do. Adding one is a push: a bucket is sorted
 * when somebody walks over it. A binary search for the place of each of a million keys would miss
 * the processor's cache at every step, and was a tenth of what placing an allocation costs
 * (bench/cluster.bench.ts); lists by id are rare beside that. Each key is added once.
 */
export class RandomKeyOrder<T extends { readonly key: string }> {
  readonly #buckets = new Map<string, Bucket<T>>()
  readonly #prefixes = new SortedList<string>(compareText)

  /** Replaces everything by `entries` at once. */
  assign(entries: Iterable<T>): void {
    this.#buckets.clear()
    this.#prefixes.assign([])
    // They often come in their order: then the next one is in the same bucket, behind the last.
    let prefix: string | undefined
    let bucket: Bucket<T> | undefined
    let last = ''
    for (const entry of entries) {
      if (prefix === undefined || !entry.key.startsWith(prefix) || prefix.length < PREFIX_CHARS) {
        prefix = prefixOf(entry.key)
        bucket = this.#bucketOf(prefix)
        last = bucket.entries.at(-1)?.key ?? ''
      }
      bucket?.entries.push(entry)
      if (bucket !== undefined && entry.key < last) bucket.isSorted = false
      last = entry.key
    }
  }

  add(entry: T): void {
    const prefix = prefixOf(entry.key)
    const bucket = this.#bucketOf(prefix)
    bucket.isSorted = bucket.entries.length === 0
    bucket.entries.push(entry)
  }

  #bucketOf(prefix: string): Bucket<T> {
    const known = this.#buckets.get(prefix)
    if (known !== undefined) return known
    const bucket = { entries: [], isSorted: true }
    this.#buckets.set(prefix, bucket)
    this.#prefixes.add(prefix)
    return bucket
  }

  delete(entry: T): boolean {
    const prefix = prefixOf(entry.key)
    const entries = this.#buckets.get(prefix)?.entries ?? []
    const at = entries.findIndex(({ key }) => key === entry.key)
    if (at < 0) return false
    entries.splice(at, 1)
    if (entries.length === 0) {
      this.#buckets.delete(prefix)
      this.#prefixes.delete(prefix)
    }
    return true
  }

  /** Keys ≥ `from` ascending. It must not change while it is walked. */
  *ascending(from?: { readonly key: string }): IterableIterator<T> {
    const first = from === undefined ? undefined : prefixOf(from.key)
    for (const prefix of this.#prefixes.ascending(first))
      for (const entry of this.#sorted(prefix))
        if (from === undefined || entry.key >= from.key) yield entry
  }

  /** Keys ≤ `from` descending. It must not change while it is walked. */
  *descending(from?: { readonly key: string }): IterableIterator<T> {
    const first = from === undefined ? undefined : prefixOf(from.key)
    for (const prefix of this.#prefixes.descending(first))
      for (const entry of this.#sorted(prefix).toReversed())
        if (from === undefined || entry.key <= from.key) yield entry
  }

  #sorted(prefix: string): readonly T[] {
    const bucket = this.#buckets.get(prefix)
    if (bucket === undefined) return []
    if (!bucket.isSorted) bucket.entries.sort((a, b) => compareText(a.key, b.key))
    bucket.isSorted = true
    return bucket.entries
  }
}

/** Prefixes sort as their keys do: a key that is shorter is its own prefix. */
function prefixOf(key: string): string {
  return key.slice(0, PREFIX_CHARS)
}
