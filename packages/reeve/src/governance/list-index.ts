import { LruCache } from '@reeve/kit/lru-cache.ts'
import { compareText, SortedList } from '@reeve/kit/sorted-list.ts'
import {
  compareCreation,
  normalizeName,
  type Row,
  type Store,
  type TableName,
} from '../state/index.ts'

/** Order, search text and scope of a list. */
export interface ListSpec<N extends TableName> {
  readonly table: N
  /** The organization; lists never mix scopes. */
  readonly scope: (row: Row<N>) => string
  readonly name: (row: Row<N>) => string
  /** Text that a search matches; the name by default. */
  readonly text?: (row: Row<N>) => string
}

export type ListOrder = 'name' | '-name' | 'newest' | 'oldest'

export interface ListPageRequest {
  readonly scope: string
  readonly order: ListOrder
  /** Substring of the text, ignoring case. */
  readonly search?: string | undefined
  /** Restricts the list to these keys, such as those the caller may read; undefined means all. */
  readonly restrictTo?: ReadonlySet<string> | undefined
  readonly skip: number
  readonly take: number
}

/** One page of keys, with the total number. */
export interface ListPage {
  readonly keys: readonly string[]
  readonly total: number
}

interface BuildProgress {
  /** Last indexed key; undefined if none is indexed yet. */
  readonly after: string | undefined
}

const NOT_STARTED: BuildProgress = { after: undefined }

/** Rows indexed per turn: about ten milliseconds. */
const BATCH_ROWS = 500

interface Entry {
  readonly key: string
  readonly name: string
  readonly text: string
  readonly createIndex: number
}

/**
 * Secondary index of one table: by name, by creation, and trigrams for substring search. Updated on
 * every change.
 *
 * A page is read from the sorted sets by name or creation, a search from the rarest trigram of its
 * text, so a page costs its own size rather than that of the table. Only a search for one or two
 * characters scans everything, and its result is cached until the scope changes.
 */
export class ListIndex<N extends TableName> {
  readonly #store: Store
  readonly #spec: ListSpec<N>
  readonly #scopes = new Map<string, Scope>()
  readonly #entries = new Map<string, { readonly scope: string; readonly entry: Entry }>()
  /** Progress of indexing existing rows; undefined when complete. */
  #progress: BuildProgress | undefined = NOT_STARTED
  /** Scopes whose trigrams are incomplete. */
  #withoutTrigrams: Scope[] = []

  constructor(store: Store, spec: ListSpec<N>) {
    this.#store = store
    this.#spec = spec
    store.observe(spec.table, {
      changed: (before, after) => this.#onRowChanged(before, after),
      reset: () => {
        this.#scopes.clear()
        this.#entries.clear()
        this.#progress = NOT_STARTED
        this.#withoutTrigrams = []
      },
    })
  }

  page(request: ListPageRequest): ListPage {
    this.indexNextBatch(Infinity)
    return this.#scopes.get(request.scope)?.page(request) ?? { keys: [], total: 0 }
  }

  /** Reports whether the index is complete. */
  get isReady(): boolean {
    return this.#progress === undefined && this.#withoutTrigrams.length === 0
  }

  /**
   * Indexes up to `rowsMax` existing rows: sort orders first, then trigrams. Returns true when
   * complete.
   */
  indexNextBatch(rowsMax = BATCH_ROWS): boolean {
    let remaining = rowsMax - this.#indexRows(rowsMax)
    while (remaining > 0 && !this.isReady) {
      const scope = this.#withoutTrigrams.at(-1)
      remaining -= scope?.indexTrigrams(remaining) ?? 0
      if (scope?.hasTrigrams === true) this.#withoutTrigrams.pop()
    }
    return this.isReady
  }

  /** Indexes the next rows in key order. Returns their number. */
  #indexRows(rowsMax: number): number {
    if (this.#progress === undefined) return 0
    const table = this.#store.tables[this.#spec.table]
    let { after } = this.#progress
    let count = 0
    for (const key of table.keys(after)) {
      if (key === after) continue
      if (count === rowsMax) {
        this.#progress = { after }
        return count
      }
      this.#add(table.get(key))
      after = key
      count++
    }
    this.#progress = undefined
    return count
  }

  #onRowChanged(before: Row<N> | undefined, after: Row<N> | undefined): void {
    if (before !== undefined) this.#remove(this.#keyOf(before))
    // Rows after the build cursor are indexed later, in their state at that time.
    if (after !== undefined && this.#isIndexed(this.#keyOf(after))) this.#add(after)
  }

  #isIndexed(key: string): boolean {
    if (this.#progress === undefined) return true
    const { after } = this.#progress
    return after !== undefined && compareText(key, after) <= 0
  }

  #add(row: Row<N>): void {
    const { scope: scopeKey, entry } = this.#entryOf(row)
    const scope = this.#scopes.get(scopeKey) ?? this.#newScope(scopeKey)
    scope.add(entry)
    this.#entries.set(entry.key, { scope: scopeKey, entry })
  }

  #newScope(key: string): Scope {
    const hasTrigrams = this.#progress === undefined
    const scope = new Scope(hasTrigrams)
    this.#scopes.set(key, scope)
    if (!hasTrigrams) this.#withoutTrigrams.push(scope)
    return scope
  }

  #entryOf(row: Row<N>): { readonly scope: string; readonly entry: Entry } {
    const { scope, name: nameOf, text } = this.#spec
    const key = this.#keyOf(row)
    const createIndex = this.#store.tables[this.#spec.table].createIndexOf(key) ?? 0
    const name = normalizeName(nameOf(row))
    const entry = {
      key,
      name,
      createIndex,
      text: text === undefined ? name : normalizeName(text(row)),
    }
    return { scope: scope(row), entry }
  }

  #remove(key: string): void {
    const indexed = this.#entries.get(key)
    if (indexed === undefined) return
    this.#entries.delete(key)
    const scope = this.#scopes.get(indexed.scope)
    scope?.delete(indexed.entry)
    if (scope?.size === 0) this.#scopes.delete(indexed.scope)
  }

  #keyOf(row: Row<N>): string {
    return this.#store.tables[this.#spec.table].spec.key(row)
  }
}

const TRIGRAM_LENGTH = 3
/** Cached search results, for following pages. */
const CACHED_SEARCHES_MAX = 64
/**
 * If fewer than one in this many entries match, sorting them is cheaper than scanning the order.
 */
const SPARSE_SHARE = 16

class Scope {
  readonly #byName = new SortedList<Entry>(compareName)
  readonly #byCreation = new SortedList<Entry>(compareCreation)
  readonly #byTrigram = new Map<string, SortedList<Entry>>()
  readonly #byKey = new Map<string, Entry>()
  /** By search text, in the order of creation. */
  readonly #searches = new LruCache<string, readonly Entry[]>({ weightMax: CACHED_SEARCHES_MAX })
  /**
   * Last entry whose trigrams are indexed. Indexing in the order of creation only appends to the
   * lists, which is cheap.
   */
  #trigramCursor: Entry | undefined
  #hasAllTrigrams: boolean

  constructor(isSpelt: boolean) {
    this.#hasAllTrigrams = isSpelt
  }

  /** Reports whether all trigrams are indexed. */
  get hasTrigrams(): boolean {
    return this.#hasAllTrigrams
  }

  /** Indexes the trigrams of the next entries. Returns their number. */
  indexTrigrams(entriesMax: number): number {
    let count = 0
    for (const entry of this.#byCreation.ascending(this.#trigramCursor)) {
      if (entry === this.#trigramCursor) continue
      if (count === entriesMax) return count
      this.#addTrigrams(entry)
      this.#trigramCursor = entry
      count++
    }
    this.#hasAllTrigrams = true
    return count
  }

  get size(): number {
    return this.#byKey.size
  }

  add(entry: Entry): void {
    this.#searches.clear()
    this.#byKey.set(entry.key, entry)
    this.#byName.add(entry)
    this.#byCreation.add(entry)
    if (this.#hasTrigramsOf(entry)) this.#addTrigrams(entry)
  }

  #hasTrigramsOf(entry: Entry): boolean {
    if (this.#hasAllTrigrams) return true
    return this.#trigramCursor !== undefined && compareCreation(entry, this.#trigramCursor) <= 0
  }

  #addTrigrams(entry: Entry): void {
    for (const gram of trigramsOf(entry.text)) {
      const entries = this.#byTrigram.get(gram) ?? new SortedList<Entry>(compareCreation)
      this.#byTrigram.set(gram, entries)
      entries.add(entry)
    }
  }

  delete(entry: Entry): void {
    this.#searches.clear()
    this.#byKey.delete(entry.key)
    this.#byName.delete(entry)
    this.#byCreation.delete(entry)
    for (const gram of trigramsOf(entry.text)) {
      const entries = this.#byTrigram.get(gram)
      entries?.delete(entry)
      if (entries?.size === 0) this.#byTrigram.delete(gram)
    }
  }

  page(request: ListPageRequest): ListPage {
    const { skip, take, restrictTo } = request
    const text = normalizeName(request.search ?? '')
    const matches = this.#matches(text, restrictTo)
    const total = matches === undefined ? this.size : matches.length
    if (skip >= total) return { keys: [], total }
    if (matches !== undefined && matches.length * SPARSE_SHARE < this.size) {
      const sorted = matches.toSorted(compareBy(request.order)).slice(skip, skip + take)
      return { keys: sorted.map(({ key }) => key), total }
    }
    // A page near the end is read in reverse order.
    const isNearEnd = skip + take > total / 2
    const count = Math.min(take, total - skip)
    const entries = this.#entriesInOrder(isNearEnd ? REVERSED[request.order] : request.order)
    let toSkip = isNearEnd ? total - skip - count : skip
    const keys: string[] = []
    for (const { key, text: entryText } of entries) {
      if (restrictTo?.has(key) === false || !entryText.includes(text)) continue
      if (toSkip-- > 0) continue
      keys.push(key)
      if (keys.length === count) break
    }
    return { keys: isNearEnd ? keys.toReversed() : keys, total }
  }

  /** Returns the entries that match the search and the given keys; undefined if all do. */
  #matches(
    text: string,
    restrictTo: ReadonlySet<string> | undefined,
  ): readonly Entry[] | undefined {
    const found = text === '' ? undefined : this.#search(text)
    if (restrictTo === undefined) return found
    if (found !== undefined && found.length < restrictTo.size)
      return found.filter(({ key }) => restrictTo.has(key))
    const matching: Entry[] = []
    for (const key of restrictTo) {
      const entry = this.#byKey.get(key)
      if (entry?.text.includes(text) === true) matching.push(entry)
    }
    return matching
  }

  #search(text: string): readonly Entry[] {
    const cached = this.#searches.get(text)
    if (cached !== undefined) return cached
    const found: Entry[] = []
    for (const entry of this.#candidates(text)) if (entry.text.includes(text)) found.push(entry)
    this.#searches.set(text, found)
    return found
  }

  #candidates(text: string): Iterable<Entry> {
    if (text.length < TRIGRAM_LENGTH) return this.#byKey.values()
    let rarest: SortedList<Entry> | undefined
    for (const gram of trigramsOf(text)) {
      const entries = this.#byTrigram.get(gram)
      if (entries === undefined) return []
      if (rarest === undefined || entries.size < rarest.size) rarest = entries
    }
    return rarest?.ascending() ?? []
  }

  #entriesInOrder(order: ListOrder): Iterable<Entry> {
    switch (order) {
      case 'name':
        return this.#byName.ascending()
      case '-name':
        return this.#byName.descending()
      case 'oldest':
        return this.#byCreation.ascending()
      case 'newest':
        return this.#byCreation.descending()
    }
  }
}

function trigramsOf(text: string): ReadonlySet<string> {
  const trigrams = new Set<string>()
  for (let start = 0; start + TRIGRAM_LENGTH <= text.length; start++)
    trigrams.add(text.slice(start, start + TRIGRAM_LENGTH))
  return trigrams
}

const REVERSED = {
  name: '-name',
  '-name': 'name',
  newest: 'oldest',
  oldest: 'newest',
} as const satisfies Record<ListOrder, ListOrder>

function compareName(a: Entry, b: Entry): number {
  return compareText(a.name, b.name) || compareText(a.key, b.key)
}

function compareBy(order: ListOrder): (a: Entry, b: Entry) => number {
  switch (order) {
    case 'name':
      return compareName
    case '-name':
      return (a, b) => compareName(b, a)
    case 'oldest':
      return compareCreation
    case 'newest':
      return (a, b) => compareCreation(b, a)
  }
}

interface KeyIndex {
  keysByIndex(index: string, group: string): Iterable<string>
  createIndexOf(key: string): number | undefined
}

interface RowIndex<R> extends KeyIndex {
  get(key: string): R
}

/** Returns the keys of an index group in the order of creation, without decoding rows. */
export function keysByCreation(table: KeyIndex, index: string, group: string): readonly string[] {
  return [...table.keysByIndex(index, group)]
    .map((key) => ({ key, createIndex: table.createIndexOf(key) ?? 0 }))
    .toSorted(compareCreation)
    .map(({ key }) => key)
}

/** Returns the rows of an index group in the order of creation. */
export function rowsByCreation<R>(table: RowIndex<R>, index: string, group: string): readonly R[] {
  return keysByCreation(table, index, group).map((key) => table.get(key))
}

/**
 * Returns the intersection of the sets; undefined stands for everything. Iterates over the
 * smallest.
 */
export function intersect(
  sets: readonly (ReadonlySet<string> | undefined)[],
): ReadonlySet<string> | undefined {
  const bounded = sets.filter((one) => one !== undefined).toSorted((a, b) => a.size - b.size)
  const [smallest, ...others] = bounded
  if (smallest === undefined || others.length === 0) return smallest
  return new Set([...smallest].filter((key) => others.every((one) => one.has(key))))
}
