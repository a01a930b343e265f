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

/**
 * One-shot watches. A parked query costs its closure and a set entry; a commit touches only the
 * sets of the tables and rows it wrote.
 */
export class Watches {
  readonly #clock: Clock
  readonly #byTarget = new Map<string, Set<Wake>>()
  #due: Wake[] = []
  #draining = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Number of targets that somebody watches. */
  get size(): number {
    return this.#byTarget.size
  }

  /**
   * Calls `wake` once after the next commit that writes to one of the targets. Returns the
   * cancellation.
   */
  watch(targets: readonly WatchTarget[], wake: Wake): () => void {
    const names = targets.map(nameOf)
    let active = true
    const cancel = (): void => {
      active = false
      for (const name of names) this.#remove(name, once)
    }
    // A commit that concerns two of the targets collects this twice; a cancelled one may be due
    // already.
    const once = (): void => {
      if (!active) return
      cancel()
      wake()
    }
    for (const name of names) {
      const set = this.#byTarget.get(name)
      if (set === undefined) this.#byTarget.set(name, new Set([once]))
      else set.add(once)
    }
    return cancel
  }

  /** Wakes everybody who watches one of these rows or their tables. */
  notify(rows: Iterable<{ readonly table: string; readonly key: string }>): void {
    if (this.#byTarget.size === 0) return
    const tables = new Set<string>()
    for (const row of rows) {
      this.#collect(nameOf(row))
      tables.add(row.table)
    }
    for (const table of tables) this.#collect(nameOf({ table }))
    this.#drain()
  }

  /** Wakes everybody: the state as a whole was replaced, or the server stops. */
  notifyAll(): void {
    for (const name of this.#byTarget.keys()) this.#collect(name)
    this.#drain()
  }

  #collect(name: string): void {
    const set = this.#byTarget.get(name)
    if (set === undefined) return
    for (const wake of set) this.#due.push(wake)
    this.#byTarget.delete(name)
  }

  #drain(): void {
    if (this.#draining || this.#due.length === 0) return
    this.#draining = true
    const slice = this.#due.splice(0, WAKES_PER_SLICE)
    for (const wake of slice) wake()
    this.#draining = false
    if (this.#due.length > 0) this.#clock.after(0, () => this.#drain())
  }

  #remove(name: string, wake: Wake): void {
    const set = this.#byTarget.get(name)
    if (set === undefined) return
    set.delete(wake)
    if (set.size === 0) this.#byTarget.delete(name)
  }
}

function nameOf(target: WatchTarget): string {
  return target.key === undefined ? target.table : `${target.table}\n${target.key}`
}
