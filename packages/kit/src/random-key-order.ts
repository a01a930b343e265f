import { compareText, SortedList } from './sorted-list.ts'

/**
 * Keys with the same prefix of this length share a bucket. Three hexadecimal digits give 4,096
 * buckets, with 244 keys each for a million.
 */
const PREFIX_CHARS = 3

interface Bucket<T> {
  readonly entries: T[]
  isSorted: boolean
}

/**
 * Sorted keys for keys that start at random, such as UUIDs. Insertion is a push; a bucket is sorted
 * when it is iterated. A binary search among a million keys would miss the CPU cache at every step,
 * and was a tenth of the cost of placing an allocation (bench/cluster.bench.ts). Lists by id are
 * rare in comparison. Each key is added once.
 */
export class RandomKeyOrder<T extends { readonly key: string }> {
  readonly #buckets = new Map<string, Bucket<T>>()
  readonly #prefixes = new SortedList<string>(compareText)

  /** Replaces all entries. */
  assign(entries: Iterable<T>): void {
    this.#buckets.clear()
    this.#prefixes.assign([])
    // Entries often arrive sorted: the next one then belongs to the same bucket, after the last
    // one.
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

  /** Entries with keys ≥ `from`, ascending. Must not be modified during iteration. */
  *ascending(from?: { readonly key: string }): IterableIterator<T> {
    const first = from === undefined ? undefined : prefixOf(from.key)
    for (const prefix of this.#prefixes.ascending(first))
      for (const entry of this.#sorted(prefix))
        if (from === undefined || entry.key >= from.key) yield entry
  }

  /** Entries with keys ≤ `from`, descending. Must not be modified during iteration. */
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

/** Prefixes sort in the order of their keys: a shorter key is its own prefix. */
function prefixOf(key: string): string {
  return key.slice(0, PREFIX_CHARS)
}
