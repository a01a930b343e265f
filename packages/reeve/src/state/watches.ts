import type { Clock } from '../kit/clock.ts'

/** What a reader looked at: a whole table, or one row of it (there or not). */
export interface WatchTarget {
  readonly table: string
  readonly key?: string
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
    for (const { whole, byKey } of this.#byTable.values())
      size += byKey.size + (whole.size > 0 ? 1 : 0)
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

  /** Wakes everybody who watches a row of these commits, or its table. */
  notify(commits: readonly WatchedCommit[]): void {
    for (const { rows } of commits)
      for (const { table, key } of rows) {
        const watches = this.#byTable.get(table)
        if (watches === undefined) continue
        const ofRow = watches.byKey.get(key)
        if (ofRow !== undefined) {
          watches.byKey.delete(key)
          this.#collect(ofRow)
        }
        this.#collect(watches.whole)
      }
    this.#drain()
  }

  /** Wakes everybody: the state as a whole was replaced, or the server stops. */
  notifyAll(): void {
    for (const { whole, byKey } of this.#byTable.values()) {
      this.#collect(whole)
      for (const ofRow of byKey.values()) this.#collect(ofRow)
      byKey.clear()
    }
    this.#drain()
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

  #add({ table, key }: WatchTarget, wake: Wake): void {
    let watches = this.#byTable.get(table)
    if (watches === undefined) {
      watches = { whole: new Set(), byKey: new Map() }
      this.#byTable.set(table, watches)
    }
    if (key === undefined) {
      watches.whole.add(wake)
      return
    }
    const ofRow = watches.byKey.get(key)
    if (ofRow === undefined) watches.byKey.set(key, new Set([wake]))
    else ofRow.add(wake)
  }

  #remove({ table, key }: WatchTarget, wake: Wake): void {
    const watches = this.#byTable.get(table)
    if (watches === undefined) return
    if (key === undefined) {
      watches.whole.delete(wake)
      return
    }
    const ofRow = watches.byKey.get(key)
    ofRow?.delete(wake)
    if (ofRow?.size === 0) watches.byKey.delete(key)
  }
}

/** What a commit wrote. */
interface WatchedCommit {
  readonly rows: readonly { readonly table: string; readonly key: string }[]
}
