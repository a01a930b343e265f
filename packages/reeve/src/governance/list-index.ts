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
    for (const row of this.#store.tables[this.#spec.table].rows()) this.#add(scopes, row)
    return scopes
  }

  #changed(before: Row<N> | undefined, after: Row<N> | undefined): void {
    const scopes = this.#scopes
    if (scopes === undefined) return
    if (before !== undefined) this.#remove(scopes, this.#keyOf(before))
    if (after !== undefined) this.#add(scopes, after)
  }

  #add(scopes: Map<string, Scope>, row: Row<N>): void {
    const { scope: scopeOf, name: nameOf, text } = this.#spec
    const key = this.#keyOf(row)
    const createIndex = this.#store.tables[this.#spec.table].createIndexOf(key) ?? 0
    const name = foldName(nameOf(row))
    const entry = { key, name, createIndex, text: text === undefined ? name : foldName(text(row)) }
    const scopeKey = scopeOf(row)
    const scope = scopes.get(scopeKey) ?? new Scope()
    scopes.set(scopeKey, scope)
    scope.add(entry)
    this.#entries.set(key, { scope: scopeKey, entry })
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
  readonly #byName = new SortedList<Entry>(
    (a, b) => compareText(a.name, b.name) || compareText(a.key, b.key),
  )
  readonly #byCreation = new SortedList<Entry>(compareCreation)
  readonly #byGram = new Map<string, SortedList<Entry>>()
  readonly #byKey = new Map<string, Entry>()
  readonly #searches = new Map<string, ReadonlySet<Entry>>()

  get size(): number {
    return this.#byKey.size
  }

  add(entry: Entry): void {
    this.#searches.clear()
    this.#byKey.set(entry.key, entry)
    this.#byName.add(entry)
    this.#byCreation.add(entry)
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
    const matches = this.#matches(wish)
    const total = matches === undefined ? this.size : matches.size
    const { skip, take } = wish
    if (skip >= total) return { keys: [], total }
    const isSparse = matches !== undefined && matches.size * SPARSE_SHARE < this.size
    const walk = isSparse
      ? [...matches].toSorted(compareBy(wish.order)).values()
      : this.#walk(wish.order)
    const keys: string[] = []
    let passed = 0
    for (const entry of walk) {
      if (!isSparse && matches?.has(entry) === false) continue
      if (passed++ < skip) continue
      keys.push(entry.key)
      if (keys.length === take) break
    }
    return { keys, total }
  }

  /** What the search and the given keys leave; undefined when that is everything. */
  #matches({ search = '', within }: ListWish): ReadonlySet<Entry> | undefined {
    const text = foldName(search)
    const found = text === '' ? undefined : this.#search(text)
    if (within === undefined) return found
    const left = new Set<Entry>()
    if (found !== undefined && found.size < within.size) {
      for (const entry of found) if (within.has(entry.key)) left.add(entry)
      return left
    }
    for (const key of within) {
      const entry = this.#byKey.get(key)
      if (entry !== undefined && (found === undefined || found.has(entry))) left.add(entry)
    }
    return left
  }

  #search(text: string): ReadonlySet<Entry> {
    const known = this.#searches.get(text)
    if (known !== undefined) return known
    const found = new Set<Entry>()
    for (const entry of this.#candidates(text)) if (entry.text.includes(text)) found.add(entry)
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

function compareBy(order: ListOrder): (a: Entry, b: Entry) => number {
  const byName = (a: Entry, b: Entry): number =>
    compareText(a.name, b.name) || compareText(a.key, b.key)
  switch (order) {
    case 'name':
      return byName
    case '-name':
      return (a, b) => byName(b, a)
    case 'oldest':
      return compareCreation
    case 'newest':
      return (a, b) => compareCreation(b, a)
  }
}
