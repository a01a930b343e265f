import type { Clock } from '../kit/clock.ts'
import type { NamespaceScope, NamespaceSet } from './namespace-indexes.ts'

/** What a reader looked at: a table, its rows in some namespaces, or one row (there or not). */
export interface WatchTarget {
  readonly table: string
  readonly key?: string
  /** All rows of the table unless given. */
  readonly scope?: NamespaceScope
}

/**
 * Waking ten thousand parked queries at once blocks the loop for 300 ms (measured), so in slices.
 */
const WAKES_PER_SLICE = 250

type Wake = () => void

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
  #due: Wake[] = []
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
    const once = (): void => {
      if (!active) return
      cancel()
      wake()
    }
    for (const target of targets) this.#add(target, once)
    return cancel
  }

  /** Wakes everybody who watches a row of these commits, its namespace, or its table. */
  notify(commits: readonly WatchedCommit[]): void {
    for (const { rows } of commits)
      for (const row of rows) {
        const watches = this.#byTable.get(row.table)
        if (watches !== undefined) this.#collectRow(watches, row)
      }
    this.#drain()
  }

  /** Wakes everybody: the state as a whole was replaced, or the server stops. */
  notifyAll(): void {
    for (const { whole, byKey, byNamespace, bySet } of this.#byTable.values()) {
      this.#collect(whole)
      for (const ofRow of byKey.values()) this.#collect(ofRow)
      for (const ofNamespace of byNamespace.values()) this.#collect(ofNamespace)
      for (const ofSet of bySet.values()) this.#collect(ofSet)
      byKey.clear()
      byNamespace.clear()
      bySet.clear()
    }
    this.#drain()
  }

  #collectRow({ whole, byKey, byNamespace, bySet }: TableWatches, row: WatchedRow): void {
    this.#collectAt(byKey, row.key)
    this.#collect(whole)
    const { namespace } = row
    if (namespace === undefined) return
    this.#collectAt(byNamespace, namespace)
    for (const set of bySet.keys()) if (set.covers(namespace)) this.#collectAt(bySet, set)
  }

  #collectAt<K>(wakes: Map<K, Set<Wake>>, at: K): void {
    const found = wakes.get(at)
    if (found === undefined) return
    wakes.delete(at)
    this.#collect(found)
  }

  #collect(wakes: Set<Wake>): void {
    for (const wake of wakes) this.#due.push(wake)
    wakes.clear()
  }

  #drain(): void {
    if (this.#draining || this.#due.length === 0) return
    this.#draining = true
    const slice = this.#due.splice(0, WAKES_PER_SLICE)
    for (const wake of slice) wake()
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
  readonly rows: readonly WatchedRow[]
}

interface WatchedRow {
  readonly table: string
  readonly key: string
  readonly namespace?: string | undefined
}
