import { compareText, SortedList } from '@reeve/kit/sorted-list.ts'

/** Longer chunks are sorted and split. */
const CHUNK_SIZE_MAX = 512

interface Chunk<T> {
  readonly entries: T[]
  /** The entry with the greatest key. */
  max: T
  isSorted: boolean
}

/**
 * Sorted keys with cheap insertion: an entry is appended to its chunk, and a chunk is sorted only
 * when it is iterated or split. Insertion compares only the greatest keys of chunks, which stay in
 * the CPU cache; a binary search inside a chunk would miss the cache at nearly every step, in each
 * of the three indexes that a registered job is part of. Each key is added once.
 */
export class LazySortedKeys<T extends { readonly key: string }> {
  #chunks: Chunk<T>[] = []

  /** Replaces all entries. */
  assign(entries: readonly T[]): void {
    const sorted = entries.toSorted(compareKeys)
    this.#chunks = []
    for (let at = 0; at < sorted.length; at += CHUNK_SIZE_MAX)
      this.#chunks.push(...sortedChunk(sorted.slice(at, at + CHUNK_SIZE_MAX)))
  }

  add(entry: T): void {
    const last = this.#chunks.at(-1)
    // Keys are often created in ascending order: appending needs no search.
    if (last === undefined || last.max.key < entry.key) return this.#append(entry, last)
    const at = this.#chunkFor(entry.key)
    const chunk = this.#chunks[at]
    if (chunk === undefined) return
    chunk.entries.push(entry)
    chunk.isSorted = false
    if (chunk.entries.length > CHUNK_SIZE_MAX) this.#split(at, chunk)
  }

  #append(entry: T, last: Chunk<T> | undefined): void {
    if (last === undefined || last.entries.length >= CHUNK_SIZE_MAX) {
      this.#chunks.push({ entries: [entry], max: entry, isSorted: true })
      return
    }
    last.entries.push(entry)
    last.max = entry
  }

  delete({ key }: { readonly key: string }): boolean {
    const chunkAt = this.#chunkFor(key)
    const chunk = this.#chunks[chunkAt]
    if (chunk === undefined) return false
    const entries = sortedEntries(chunk)
    const at = lowerBound(entries, key)
    if (entries[at]?.key !== key) return false
    entries.splice(at, 1)
    const max = entries.at(-1)
    if (max === undefined) this.#chunks.splice(chunkAt, 1)
    else chunk.max = max
    return true
  }

  /** Entries with keys ≥ `from`, ascending. Must not be modified during iteration. */
  *ascending(from?: { readonly key: string }): IterableIterator<T> {
    const first = from === undefined ? 0 : this.#chunkFor(from.key)
    for (let chunkAt = first; chunkAt < this.#chunks.length; chunkAt++) {
      const entries = this.#sortedAt(chunkAt)
      const start = from === undefined || chunkAt > first ? 0 : lowerBound(entries, from.key)
      for (const entry of start === 0 ? entries : entries.slice(start)) yield entry
    }
  }

  /** Entries with keys ≤ `from`, descending. Must not be modified during iteration. */
  *descending(from?: { readonly key: string }): IterableIterator<T> {
    const last = this.#chunks.length - 1
    const start = from === undefined ? last : Math.min(this.#chunkFor(from.key), last)
    for (let chunkAt = start; chunkAt >= 0; chunkAt--)
      for (const entry of this.#sortedAt(chunkAt).toReversed())
        if (from === undefined || entry.key <= from.key) yield entry
  }

  #sortedAt(chunkAt: number): T[] {
    const chunk = this.#chunks[chunkAt]
    return chunk === undefined ? [] : sortedEntries(chunk)
  }

  #split(at: number, chunk: Chunk<T>): void {
    const entries = sortedEntries(chunk)
    const tail = entries.splice(entries.length >> 1)
    this.#chunks.splice(at, 1, ...sortedChunk(entries), ...sortedChunk(tail))
  }

  /**
   * Index of the first chunk whose greatest key is ≥ `key`; the number of chunks if there is none.
   */
  #chunkFor(key: string): number {
    let low = 0
    let high = this.#chunks.length
    while (low < high) {
      const middle = (low + high) >> 1
      const chunk = this.#chunks[middle]
      if (chunk !== undefined && chunk.max.key < key) low = middle + 1
      else high = middle
    }
    return low
  }
}

function compareKeys(a: { readonly key: string }, b: { readonly key: string }): number {
  return compareText(a.key, b.key)
}

function sortedEntries<T extends { readonly key: string }>(chunk: Chunk<T>): T[] {
  if (!chunk.isSorted) chunk.entries.sort(compareKeys)
  chunk.isSorted = true
  return chunk.entries
}

/** Returns no chunk for no entries. */
function sortedChunk<T>(entries: T[]): Chunk<T>[] {
  const max = entries.at(-1)
  return max === undefined ? [] : [{ entries, max, isSorted: true }]
}

/** Index of the first entry with a key ≥ `key`. */
function lowerBound(entries: readonly { readonly key: string }[], key: string): number {
  let low = 0
  let high = entries.length
  while (low < high) {
    const middle = (low + high) >> 1
    const entry = entries[middle]
    if (entry !== undefined && entry.key < key) low = middle + 1
    else high = middle
  }
  return low
}

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
export class BucketedKeys<T extends { readonly key: string }> {
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
        bucket = this.#getOrCreateBucket(prefix)
        last = bucket.entries.at(-1)?.key ?? ''
      }
      bucket?.entries.push(entry)
      if (bucket !== undefined && entry.key < last) bucket.isSorted = false
      last = entry.key
    }
  }

  add(entry: T): void {
    const prefix = prefixOf(entry.key)
    const bucket = this.#getOrCreateBucket(prefix)
    bucket.isSorted = bucket.entries.length === 0
    bucket.entries.push(entry)
  }

  #getOrCreateBucket(prefix: string): Bucket<T> {
    const existing = this.#buckets.get(prefix)
    if (existing !== undefined) return existing
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

/** A position in one of a table's orders. */
export interface OrderKey {
  readonly key: string
  readonly createIndex: number
}

/** The order of creation: by index, then by key. */
export function compareCreation(a: OrderKey, b: OrderKey): number {
  return a.createIndex - b.createIndex || compareText(a.key, b.key)
}

/**
 * Sorts entries by creation. If they arrive in key order, as most engines return them at start,
 * create index and position are combined into one number, and sorting numbers is ten times as fast
 * as sorting entries, a considerable part of the start time with a million rows.
 */
export function sortByCreation<T extends OrderKey>(entries: readonly T[]): readonly T[] {
  const codes = new Float64Array(entries.length)
  const positionRange = 2 ** Math.ceil(Math.log2(entries.length + 1))
  let last = ''
  for (let position = 0; position < entries.length; position++) {
    const entry = entries[position]
    const code = (entry?.createIndex ?? 0) * positionRange + position
    if (entry === undefined || entry.key < last || !Number.isSafeInteger(code))
      return entries.toSorted(compareCreation)
    codes[position] = code
    last = entry.key
  }
  codes.sort()
  const sorted: T[] = []
  for (const code of codes) {
    const entry = entries[code % positionRange]
    if (entry !== undefined) sorted.push(entry)
  }
  return sorted
}
