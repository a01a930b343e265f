import type { Clock } from '@reeve/kit/clock.ts'
import type { NamespaceScope, NamespaceSet } from './namespace-indexes.ts'

/** What a watch covers: a table, its rows in some namespaces, or one row (existing or not). */
export interface WatchTarget {
  readonly table: string
  readonly key?: string
  /** All rows of the table unless given. */
  readonly scope?: NamespaceScope
}

/** Number of watches called before yielding to the event loop; each takes some microseconds. */
const WAKES_PER_SLICE = 250

/** Called with the index of the triggering commit; undefined if all watches are triggered. */
type Wake = (index: number | undefined) => void

interface PendingWake {
  readonly wake: Wake
  readonly index: number | undefined
}

/** Watches of one table. */
interface TableWatches {
  /** Watches of the whole table. */
  readonly wholeTable: Set<Wake>
  /** Single rows. */
  readonly byKey: Map<string, Set<Wake>>
  /** Watches of one namespace. */
  readonly byNamespace: Map<string, Set<Wake>>
  /** Watches of namespace sets, which are checked at each write. */
  readonly bySet: Map<NamespaceSet, Set<Wake>>
}

/**
 * One-shot watches. A parked query costs its closure and a set entry; a commit touches only the
 * sets of the tables and rows it wrote.
 */
export class Watches {
  readonly #clock: Clock
  readonly #byTable = new Map<string, TableWatches>()
  #pendingWakes: PendingWake[] = []
  #isRunning = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Number of watched targets. */
  get size(): number {
    let size = 0
    for (const { wholeTable, byKey, byNamespace, bySet } of this.#byTable.values())
      size += byKey.size + byNamespace.size + bySet.size + (wholeTable.size > 0 ? 1 : 0)
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
    // A commit that affects two of the targets collects this callback twice; a cancelled one may
    // already be pending.
    const once: Wake = (index) => {
      if (!active) return
      cancel()
      wake(index)
    }
    for (const target of targets) this.#add(target, once)
    return cancel
  }

  /** Triggers the watches of all rows, namespaces and tables that these commits wrote. */
  notify(commits: readonly WatchedCommit[]): void {
    for (const { index, rows } of commits)
      for (const row of rows) {
        const watches = this.#byTable.get(row.table)
        if (watches !== undefined) this.#collectRow(watches, row, index)
      }
    this.#runPendingWakes()
  }

  /** Triggers all watches: the state was replaced as a whole, or the server stops. */
  notifyAll(): void {
    for (const { wholeTable, byKey, byNamespace, bySet } of this.#byTable.values()) {
      this.#collect(wholeTable, undefined)
      for (const ofRow of byKey.values()) this.#collect(ofRow, undefined)
      for (const ofNamespace of byNamespace.values()) this.#collect(ofNamespace, undefined)
      for (const ofSet of bySet.values()) this.#collect(ofSet, undefined)
      byKey.clear()
      byNamespace.clear()
      bySet.clear()
    }
    this.#runPendingWakes()
  }

  #collectRow(watches: TableWatches, { key, namespace }: WatchedRow, index: number): void {
    const { wholeTable, byKey, byNamespace, bySet } = watches
    this.#collectAt(byKey, key, index)
    this.#collect(wholeTable, index)
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
    for (const wake of wakes) this.#pendingWakes.push({ wake, index })
    wakes.clear()
  }

  #runPendingWakes(): void {
    if (this.#isRunning || this.#pendingWakes.length === 0) return
    this.#isRunning = true
    const slice = this.#pendingWakes.splice(0, WAKES_PER_SLICE)
    for (const { wake, index } of slice) wake(index)
    this.#isRunning = false
    if (this.#pendingWakes.length > 0) this.#clock.after(0, () => this.#runPendingWakes())
  }

  #add({ table, key, scope }: WatchTarget, wake: Wake): void {
    let watches = this.#byTable.get(table)
    if (watches === undefined) {
      watches = {
        wholeTable: new Set(),
        byKey: new Map(),
        byNamespace: new Map(),
        bySet: new Map(),
      }
      this.#byTable.set(table, watches)
    }
    if (key !== undefined) return addTo(watches.byKey, key, wake)
    if (scope?.kind === 'one') return addTo(watches.byNamespace, scope.namespace, wake)
    if (scope?.kind === 'some') return addTo(watches.bySet, scope, wake)
    watches.wholeTable.add(wake)
  }

  #remove({ table, key, scope }: WatchTarget, wake: Wake): void {
    const watches = this.#byTable.get(table)
    if (watches === undefined) return
    if (key !== undefined) return removeFrom(watches.byKey, key, wake)
    if (scope?.kind === 'one') return removeFrom(watches.byNamespace, scope.namespace, wake)
    if (scope?.kind === 'some') return removeFrom(watches.bySet, scope, wake)
    watches.wholeTable.delete(wake)
  }
}

function addTo<K>(wakes: Map<K, Set<Wake>>, at: K, wake: Wake): void {
  const existing = wakes.get(at)
  if (existing === undefined) wakes.set(at, new Set([wake]))
  else existing.add(wake)
}

function removeFrom<K>(wakes: Map<K, Set<Wake>>, at: K, wake: Wake): void {
  const existing = wakes.get(at)
  existing?.delete(wake)
  if (existing?.size === 0) wakes.delete(at)
}

/** The parts of a commit that watches need. */
interface WatchedCommit {
  readonly index: number
  readonly rows: readonly WatchedRow[]
}

interface WatchedRow {
  readonly table: string
  readonly key: string
  readonly namespace?: string | undefined
}
