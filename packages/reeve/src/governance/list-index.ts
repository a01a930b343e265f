import { LruCache } from '@reeve/kit/lru-cache.ts'
import { compareText, SortedList } from '@reeve/kit/sorted-list.ts'
import { compareCreation, foldName, type Row, type Store, type TableName } from '../state/index.ts'

/** Order, search text and scope of a list. */
export interface ListSpec<N extends TableName> {
  readonly table: N
  /** The organization; lists never mix scopes. */
  readonly scope: (row: Row<N>) => string
  readonly name: (row: Row<N>) => string
  /** Text that a search matches, if it is more than the name. */
  readonly text?: (row: Row<N>) => string
}

export type ListOrder = 'name' | '-name' | 'newest' | 'oldest'

export interface ListWish {
  readonly scope: string
  readonly order: ListOrder
  /** Part of the text, case ignored. */
  readonly search?: string | undefined
  /** Only these keys: what the caller may see, what a filter leaves. Undefined: all. */
  readonly within?: ReadonlySet<string> | undefined
  readonly skip: number
  readonly take: number
}

/** One page of keys and how many there are in all. */
export interface ListPart {
  readonly keys: readonly string[]
  readonly total: number
}

interface Progress {
  /** Everything up to this key is in; undefined when nothing is. */
  readonly after: string | undefined
}

const NOT_BEGUN: Progress = { after: undefined }

/** Rows indexed per turn: about ten milliseconds. */
const TURN_ROWS = 500

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
  #progress: Progress | undefined = NOT_BEGUN
  /** Scopes whose trigrams are incomplete. */
  #unspelt: Scope[] = []

  constructor(store: Store, spec: ListSpec<N>) {
    this.#store = store
    this.#spec = spec
    store.observe(spec.table, {
      changed: (before, after) => this.#changed(before, after),
      reset: () => {
        this.#scopes.clear()
        this.#entries.clear()
        this.#progress = NOT_BEGUN
        this.#unspelt = []
      },
    })
  }

  page(wish: ListWish): ListPart {
    this.takeTurn(Infinity)
    return this.#scopes.get(wish.scope)?.page(wish) ?? { keys: [], total: 0 }
  }

  /** Reports whether the index is complete. */
  get isReady(): boolean {
    return this.#progress === undefined && this.#unspelt.length === 0
  }

  /**
   * Indexes up to `rowsMax` existing rows: sort orders first, then trigrams. Returns true when
   * complete.
   */
  takeTurn(rowsMax = TURN_ROWS): boolean {
    let left = rowsMax - this.#takeRows(rowsMax)
    while (left > 0 && !this.isReady) {
      const scope = this.#unspelt.at(-1)
      left -= scope?.spell(left) ?? 0
      if (scope?.isSpelt === true) this.#unspelt.pop()
    }
    return this.isReady
  }

  /** Indexes the next rows in key order. Returns their number. */
  #takeRows(rowsMax: number): number {
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

  #changed(before: Row<N> | undefined, after: Row<N> | undefined): void {
    if (before !== undefined) this.#remove(this.#keyOf(before))
    // Rows after the build cursor are indexed later, in their state at that time.
    if (after !== undefined && this.#isTaken(this.#keyOf(after))) this.#add(after)
  }

  #isTaken(key: string): boolean {
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
    const isSpelt = this.#progress === undefined
    const scope = new Scope(isSpelt)
    this.#scopes.set(key, scope)
    if (!isSpelt) this.#unspelt.push(scope)
    return scope
  }

  #entryOf(row: Row<N>): { readonly scope: string; readonly entry: Entry } {
    const { scope, name: nameOf, text } = this.#spec
    const key = this.#keyOf(row)
    const createIndex = this.#store.tables[this.#spec.table].createIndexOf(key) ?? 0
    const name = foldName(nameOf(row))
    const entry = { key, name, createIndex, text: text === undefined ? name : foldName(text(row)) }
    return { scope: scope(row), entry }
  }

  #remove(key: string): void {
    const known = this.#entries.get(key)
    if (known === undefined) return
    this.#entries.delete(key)
    const scope = this.#scopes.get(known.scope)
    scope?.delete(known.entry)
    if (scope?.size === 0) this.#scopes.delete(known.scope)
  }

  #keyOf(row: Row<N>): string {
    return this.#store.tables[this.#spec.table].spec.key(row)
  }
}

const GRAM_CHARS = 3
/** Cached search results, for following pages. */
const SEARCHES_KEPT_MAX = 64
/**
 * If fewer than one in this many entries match, sorting them is cheaper than scanning the order.
 */
const SPARSE_SHARE = 16

class Scope {
  readonly #byName = new SortedList<Entry>(compareName)
  readonly #byCreation = new SortedList<Entry>(compareCreation)
  readonly #byGram = new Map<string, SortedList<Entry>>()
  readonly #byKey = new Map<string, Entry>()
  /** By search text, in the order of creation. */
  readonly #searches = new LruCache<string, readonly Entry[]>({ weightMax: SEARCHES_KEPT_MAX })
  /**
   * Last entry whose trigrams are indexed. Indexing in the order of creation only appends to the
   * lists, which is cheap.
   */
  #speltTo: Entry | undefined
  #isSpelt: boolean

  constructor(isSpelt: boolean) {
    this.#isSpelt = isSpelt
  }

  /** Reports whether all trigrams are indexed. */
  get isSpelt(): boolean {
    return this.#isSpelt
  }

  /** Indexes the trigrams of the next entries. Returns their number. */
  spell(entriesMax: number): number {
    let count = 0
    for (const entry of this.#byCreation.ascending(this.#speltTo)) {
      if (entry === this.#speltTo) continue
      if (count === entriesMax) return count
      this.#addGrams(entry)
      this.#speltTo = entry
      count++
    }
    this.#isSpelt = true
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
    if (this.#hasSpelt(entry)) this.#addGrams(entry)
  }

  #hasSpelt(entry: Entry): boolean {
    if (this.#isSpelt) return true
    return this.#speltTo !== undefined && compareCreation(entry, this.#speltTo) <= 0
  }

  #addGrams(entry: Entry): void {
    for (const gram of gramsOf(entry.text)) {
      const entries = this.#byGram.get(gram) ?? new SortedList<Entry>(compareCreation)
      this.#byGram.set(gram, entries)
      entries.add(entry)
    }
  }

  delete(entry: Entry): void {
    this.#searches.clear()
    this.#byKey.delete(entry.key)
    this.#byName.delete(entry)
    this.#byCreation.delete(entry)
    for (const gram of gramsOf(entry.text)) {
      const entries = this.#byGram.get(gram)
      entries?.delete(entry)
      if (entries?.size === 0) this.#byGram.delete(gram)
    }
  }

  page(wish: ListWish): ListPart {
    const { skip, take, within } = wish
    const text = foldName(wish.search ?? '')
    const matches = this.#matches(text, within)
    const total = matches === undefined ? this.size : matches.length
    if (skip >= total) return { keys: [], total }
    if (matches !== undefined && matches.length * SPARSE_SHARE < this.size) {
      const sorted = matches.toSorted(compareBy(wish.order)).slice(skip, skip + take)
      return { keys: sorted.map(({ key }) => key), total }
    }
    // A page near the end is read backwards.
    const isNearEnd = skip + take > total / 2
    const count = Math.min(take, total - skip)
    const walk = this.#walk(isNearEnd ? REVERSED[wish.order] : wish.order)
    let left = isNearEnd ? total - skip - count : skip
    const keys: string[] = []
    for (const { key, text: own } of walk) {
      if (within?.has(key) === false || !own.includes(text)) continue
      if (left-- > 0) continue
      keys.push(key)
      if (keys.length === count) break
    }
    return { keys: isNearEnd ? keys.toReversed() : keys, total }
  }

  /** Returns the entries that match the search and the given keys; undefined if all do. */
  #matches(text: string, within: ReadonlySet<string> | undefined): readonly Entry[] | undefined {
    const found = text === '' ? undefined : this.#search(text)
    if (within === undefined) return found
    if (found !== undefined && found.length < within.size)
      return found.filter(({ key }) => within.has(key))
    const left: Entry[] = []
    for (const key of within) {
      const entry = this.#byKey.get(key)
      if (entry?.text.includes(text) === true) left.push(entry)
    }
    return left
  }

  #search(text: string): readonly Entry[] {
    const known = this.#searches.get(text)
    if (known !== undefined) return known
    const found: Entry[] = []
    for (const entry of this.#candidates(text)) if (entry.text.includes(text)) found.push(entry)
    this.#searches.set(text, found)
    return found
  }

  #candidates(text: string): Iterable<Entry> {
    if (text.length < GRAM_CHARS) return this.#byKey.values()
    let rarest: SortedList<Entry> | undefined
    for (const gram of gramsOf(text)) {
      const entries = this.#byGram.get(gram)
      if (entries === undefined) return []
      if (rarest === undefined || entries.size < rarest.size) rarest = entries
    }
    return rarest?.ascending() ?? []
  }

  #walk(order: ListOrder): Iterable<Entry> {
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

function gramsOf(text: string): ReadonlySet<string> {
  const grams = new Set<string>()
  for (let at = 0; at + GRAM_CHARS <= text.length; at++) grams.add(text.slice(at, at + GRAM_CHARS))
  return grams
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
