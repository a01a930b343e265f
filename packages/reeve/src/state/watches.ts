import type { Clock } from '@reeve/kit/clock.ts'
import type { NamespaceScope, NamespaceSet } from './namespace-indexes.ts'

/** What a reader looked at: a table, its rows in some namespaces, or one row (there or not). */
export interface WatchTarget {
  readonly table: string
  readonly key?: string
  /** All rows of the table unless given. */
  readonly scope?: NamespaceScope
}

/** Who is woken takes some microseconds to line up for its turn. */
const WAKES_PER_SLICE = 250

/** Told the index of the commit that it was woken by; undefined when everybody is woken. */
type Wake = (index: number | undefined) => void

interface DueWake {
  readonly wake: Wake
  readonly index: number | undefined
}

/** Those who watch a table. */
interface TableWatches {
  /** All of it. */
  readonly whole: Set<Wake>
  /** Single rows. */
  readonly byKey: Map<string, Set<Wake>>
  /** The rows of one namespace. */
  readonly byNamespace: Map<string, Set<Wake>>
  /** The rows of several: asked at each write whether it concerns them. */
  readonly bySet: Map<NamespaceSet, Set<Wake>>
}

/**
 * One-shot watches. A parked query costs its closure and a set entry; a commit touches only the
 * sets of the tables and rows it wrote.
 */
export class Watches {
  readonly #clock: Clock
  readonly #byTable = new Map<string, TableWatches>()
  #due: DueWake[] = []
  #draining = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Number of targets that somebody watches. */
  get size(): number {
    let size = 0
    for (const { whole, byKey, byNamespace, bySet } of this.#byTable.values())
      size += byKey.size + byNamespace.size + bySet.size + (whole.size > 0 ? 1 : 0)
    return size
  }

  /**
   * Calls `wake` once after the next commit that writes to one of the targets. Returns the
   * cancellation.
   */
  watch(targets: readonly WatchTarget[], wake: Wake): () => void {
    let active = true
    const cancel = (): void => {
      active = false
      for (const target of targets) this.#remove(target, once)
    }
    // A commit that concerns two of the targets collects this twice; a cancelled one may be due
    // already.
    const once: Wake = (index) => {
      if (!active) return
      cancel()
      wake(index)
    }
    for (const target of targets) this.#add(target, once)
    return cancel
  }

  /** Wakes everybody who watches a row of these commits, its namespace, or its table. */
  notify(commits: readonly WatchedCommit[]): void {
    for (const { index, rows } of commits)
      for (const row of rows) {
        const watches = this.#byTable.get(row.table)
        if (watches !== undefined) this.#collectRow(watches, row, index)
      }
    this.#drain()
  }

  /** Wakes everybody: the state as a whole was replaced, or the server stops. */
  notifyAll(): void {
    for (const { whole, byKey, byNamespace, bySet } of this.#byTable.values()) {
      this.#collect(whole, undefined)
      for (const ofRow of byKey.values()) this.#collect(ofRow, undefined)
      for (const ofNamespace of byNamespace.values()) this.#collect(ofNamespace, undefined)
      for (const ofSet of bySet.values()) this.#collect(ofSet, undefined)
      byKey.clear()
      byNamespace.clear()
      bySet.clear()
    }
    this.#drain()
  }

  #collectRow(watches: TableWatches, { key, namespace }: WatchedRow, index: number): void {
    const { whole, byKey, byNamespace, bySet } = watches
    this.#collectAt(byKey, key, index)
    this.#collect(whole, index)
    if (namespace === undefined) return
    this.#collectAt(byNamespace, namespace, index)
    for (const set of bySet.keys()) if (set.covers(namespace)) this.#collectAt(bySet, set, index)
  }

  #collectAt<K>(wakes: Map<K, Set<Wake>>, at: K, index: number): void {
    const found = wakes.get(at)
    if (found === undefined) return
    wakes.delete(at)
    this.#collect(found, index)
  }

  #collect(wakes: Set<Wake>, index: number | undefined): void {
    for (const wake of wakes) this.#due.push({ wake, index })
    wakes.clear()
  }

  #drain(): void {
    if (this.#draining || this.#due.length === 0) return
    this.#draining = true
    const slice = this.#due.splice(0, WAKES_PER_SLICE)
    for (const { wake, index } of slice) wake(index)
    this.#draining = false
    if (this.#due.length > 0) this.#clock.after(0, () => this.#drain())
  }

  #add({ table, key, scope }: WatchTarget, wake: Wake): void {
    let watches = this.#byTable.get(table)
    if (watches === undefined) {
      watches = { whole: new Set(), byKey: new Map(), byNamespace: new Map(), bySet: new Map() }
      this.#byTable.set(table, watches)
    }
    if (key !== undefined) return addTo(watches.byKey, key, wake)
    if (scope?.kind === 'one') return addTo(watches.byNamespace, scope.namespace, wake)
    if (scope?.kind === 'some') return addTo(watches.bySet, scope, wake)
    watches.whole.add(wake)
  }

  #remove({ table, key, scope }: WatchTarget, wake: Wake): void {
    const watches = this.#byTable.get(table)
    if (watches === undefined) return
    if (key !== undefined) return removeFrom(watches.byKey, key, wake)
    if (scope?.kind === 'one') return removeFrom(watches.byNamespace, scope.namespace, wake)
    if (scope?.kind === 'some') return removeFrom(watches.bySet, scope, wake)
    watches.whole.delete(wake)
  }
}

function addTo<K>(wakes: Map<K, Set<Wake>>, at: K, wake: Wake): void {
  const known = wakes.get(at)
  if (known === undefined) wakes.set(at, new Set([wake]))
  else known.add(wake)
}

function removeFrom<K>(wakes: Map<K, Set<Wake>>, at: K, wake: Wake): void {
  const known = wakes.get(at)
  known?.delete(wake)
  if (known?.size === 0) wakes.delete(at)
}

/** What a commit wrote. */
interface WatchedCommit {
  readonly index: number
  readonly rows: readonly WatchedRow[]
}

interface WatchedRow {
  readonly table: string
  readonly key: string
  readonly namespace?: string | undefined
}
