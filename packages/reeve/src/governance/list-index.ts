import { compareText, SortedList } from '../kit/sorted-list.ts'
import { compareCreation, foldName, type Row, type Store, type TableName } from '../state/index.ts'

/** What a list is ordered, searched and divided by. */
export interface ListSpec<N extends TableName> {
  readonly table: N
  /** The organization; rows of another scope are never in the same list. */
  readonly scope: (row: Row<N>) => string
  readonly name: (row: Row<N>) => string
  /** What a search looks at when it is more than the name. */
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

interface Entry {
  readonly key: string
  readonly name: string
  readonly text: string
  readonly createIndex: number
}

/**
 * The order and search of the lists of one table, kept beside it and told of every change.
 *
 * A page is walked, not built: by name and by creation from ordered sets, a search from the rarest
 * three letters of what is looked for. So a page costs what is on it, not what is in the table
 * (issue 6, bench); the only whole walk is a search for one or two letters, and its result is kept
 * until the scope changes.
 */
export class ListIndex<N extends TableName> {
  readonly #store: Store
  readonly #spec: ListSpec<N>
  /** Undefined until somebody asks: a start does not wait for it. */
  #scopes: Map<string, Scope> | undefined
  readonly #entries = new Map<string, { readonly scope: string; readonly entry: Entry }>()

  constructor(store: Store, spec: ListSpec<N>) {
    this.#store = store
    this.#spec = spec
    store.observe(spec.table, {
      changed: (before, after) => this.#changed(before, after),
      reset: () => {
        this.#scopes = undefined
      },
    })
  }

  page(wish: ListWish): ListPart {
    return this.#ready().get(wish.scope)?.page(wish) ?? { keys: [], total: 0 }
  }

  #ready(): Map<string, Scope> {
    if (this.#scopes !== undefined) return this.#scopes
    const scopes = new Map<string, Scope>()
    this.#scopes = scopes
    this.#entries.clear()
    const byScope = new Map<string, Entry[]>()
    for (const row of this.#store.tables[this.#spec.table].rows()) {
      const { scope, entry } = this.#entryOf(row)
      this.#entries.set(entry.key, { scope, entry })
      const entries = byScope.get(scope)
      if (entries === undefined) byScope.set(scope, [entry])
      else entries.push(entry)
    }
    for (const [scope, entries] of byScope) scopes.set(scope, new Scope(entries))
    return scopes
  }

  #changed(before: Row<N> | undefined, after: Row<N> | undefined): void {
    const scopes = this.#scopes
    if (scopes === undefined) return
    if (before !== undefined) this.#remove(scopes, this.#keyOf(before))
    if (after !== undefined) this.#add(scopes, after)
  }

  #add(scopes: Map<string, Scope>, row: Row<N>): void {
    const { scope: scopeKey, entry } = this.#entryOf(row)
    const scope = scopes.get(scopeKey) ?? new Scope([])
    scopes.set(scopeKey, scope)
    scope.add(entry)
    this.#entries.set(entry.key, { scope: scopeKey, entry })
  }

  #entryOf(row: Row<N>): { readonly scope: string; readonly entry: Entry } {
    const { scope, name: nameOf, text } = this.#spec
    const key = this.#keyOf(row)
    const createIndex = this.#store.tables[this.#spec.table].createIndexOf(key) ?? 0
    const name = foldName(nameOf(row))
    const entry = { key, name, createIndex, text: text === undefined ? name : foldName(text(row)) }
    return { scope: scope(row), entry }
  }

  #remove(scopes: Map<string, Scope>, key: string): void {
    const known = this.#entries.get(key)
    if (known === undefined) return
    this.#entries.delete(key)
    const scope = scopes.get(known.scope)
    scope?.delete(known.entry)
    if (scope?.size === 0) scopes.delete(known.scope)
  }

  #keyOf(row: Row<N>): string {
    return this.#store.tables[this.#spec.table].spec.key(row)
  }
}

const GRAM_CHARS = 3
/** Searches whose result is kept for the next page. */
const SEARCHES_KEPT_MAX = 64
/** When fewer than one in so many match, sorting them is cheaper than walking the order. */
const SPARSE_SHARE = 16

class Scope {
  readonly #byName = new SortedList<Entry>(compareName)
  readonly #byCreation = new SortedList<Entry>(compareCreation)
  readonly #byGram = new Map<string, SortedList<Entry>>()
  readonly #byKey = new Map<string, Entry>()
  /** By what was looked for, in the order of creation. */
  readonly #searches = new Map<string, readonly Entry[]>()

  constructor(entries: readonly Entry[]) {
    this.#byName.assign(entries)
    this.#byCreation.assign(entries)
    // In order of creation each one goes to the end of its lists, which costs next to nothing.
    for (const entry of this.#byCreation.ascending()) {
      this.#byKey.set(entry.key, entry)
      this.#addGrams(entry)
    }
  }

  get size(): number {
    return this.#byKey.size
  }

  add(entry: Entry): void {
    this.#searches.clear()
    this.#byKey.set(entry.key, entry)
    this.#byName.add(entry)
    this.#byCreation.add(entry)
    this.#addGrams(entry)
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
    // A page near the end is reached from the end.
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

  /** What the search and the given keys leave; undefined when that is everything. */
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
    if (this.#searches.size >= SEARCHES_KEPT_MAX) this.#searches.clear()
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
