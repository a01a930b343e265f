import type { Clock } from '@reeve/kit/clock.ts'
import type { RowIndexes } from './commit.ts'
import type { Undo } from './table/table.ts'

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

/** Namespaces that a reader reads. */
export type NamespaceScope =
  | { readonly kind: 'one'; readonly namespace: string }
  | { readonly kind: 'every' }
  | NamespaceSet

/** A set of existing and future namespaces. Callers with the same permissions share one set. */
export interface NamespaceSet {
  readonly kind: 'some'
  readonly covers: (namespace: string) => boolean
}

/** A row that was written, or deleted (no header). */
interface NamespacedWrite {
  readonly table: string
  readonly key: string
  readonly namespace?: string | undefined
  readonly header: RowIndexes | undefined
}

/** The indexes of a checkpoint, by table, and by table and namespace. */
type StoredIndexes = Readonly<Record<string, number>>

interface NamespaceState {
  readonly createIndex: number
  /** Index of the last write to the namespace, by table. */
  readonly lastIndexes: Map<string, number>
}

interface CoveredNamespaces {
  readonly version: number
  /** Existing namespaces of the set; undefined if it covers all. */
  readonly namespaces: readonly NamespaceState[] | undefined
}

/** The table whose rows are the namespaces themselves. */
const NAMESPACES = 'namespaces'
/** A character that occurs in no namespace and table name. */
const SEPARATOR = '!'

/**
 * Index of the last write to each table in each namespace, so that a reader of one namespace
 * neither waits for nor learns of writes to others (decision 0066). All values derive from the
 * checkpoint and the log alone: they are equal on all servers at the same commit and after a
 * restart. Values never decrease, although nothing is kept of deleted namespaces: a namespace that
 * does not exist has the index of the last deletion of any namespace, and a recreated one has at
 * least the index of its creation.
 */
export class NamespaceIndexes {
  /** Lower bound for namespaces without later writes, by table. */
  readonly #baseIndexes = new Map<string, number>()
  /** Index of the last write to any namespace that existed then, by table. */
  readonly #highestIndexes = new Map<string, number>()
  readonly #namespaces = new Map<string, NamespaceState>()
  readonly #covered = new WeakMap<NamespaceSet, CoveredNamespaces>()
  /** Index of the last deletion of a namespace, or of the last write to one that does not exist. */
  #deletedIndex = 0
  #createdIndex = 0
  /** Incremented when a namespace is created or deleted. */
  #version = 0

  /** Tables whose rows are in namespaces. */
  constructor(tables: Iterable<string>) {
    for (const table of tables) this.#baseIndexes.set(table, 0)
  }

  /** Number of tracked namespaces. */
  get size(): number {
    return this.#namespaces.size
  }

  /** Index of the last write to a table in a namespace. */
  indexOf(table: string, namespace: string): number {
    const base = this.#baseIndexes.get(table) ?? 0
    const existing = this.#namespaces.get(namespace)
    return Math.max(base, existing === undefined ? this.#deletedIndex : indexIn(existing, table))
  }

  indexOfScope(table: string, scope: Exclude<NamespaceScope, { readonly kind: 'every' }>): number {
    return scope.kind === 'one'
      ? this.indexOf(table, scope.namespace)
      : this.indexOfSet(table, scope)
  }

  /**
   * Highest index of the namespaces in a set. Deletions of namespaces count, because the deleted
   * one may have been in the set.
   */
  indexOfSet(table: string, set: NamespaceSet): number {
    const { namespaces } = this.#coveredBy(set)
    let highest = Math.max(this.#baseIndexes.get(table) ?? 0, this.#deletedIndex)
    if (namespaces === undefined)
      return Math.max(highest, this.#createdIndex, this.#highestIndexes.get(table) ?? 0)
    for (const existing of namespaces) highest = Math.max(highest, indexIn(existing, table))
    return highest
  }

  /** Records a committed row. Returns its undo function if anything changed. */
  noteWrite({ table, key, namespace, header }: NamespacedWrite, index: number): Undo | undefined {
    if (table === NAMESPACES)
      return header === undefined ? this.#noteDeleted(key, index) : this.noteCreated(key, header[0])
    if (namespace === undefined || !this.#baseIndexes.has(table)) return undefined
    const existing = this.#namespaces.get(namespace)
    if (existing === undefined) return this.#raiseDeletedIndex(index)
    const { lastIndexes } = existing
    const before = lastIndexes.get(table)
    if (before === index) return undefined
    const highest = this.#highestIndexes.get(table) ?? 0
    lastIndexes.set(table, index)
    this.#highestIndexes.set(table, index)
    return () => {
      this.#highestIndexes.set(table, highest)
      if (before === undefined) lastIndexes.delete(table)
      else lastIndexes.set(table, before)
    }
  }

  /** Loads the indexes of a checkpoint that reaches `upTo`; its namespaces must already exist. */
  load(stored: StoredIndexes, upTo: number): void {
    const indexOf = tableIndexesIn(stored, upTo)
    for (const table of this.#baseIndexes.keys())
      this.#baseIndexes.set(table, stored[baseKey(table)] ?? indexOf(table))
    this.#deletedIndex = stored[DELETED_KEY] ?? 0
    for (const [key, index] of Object.entries(stored)) {
      const at = key.indexOf(SEPARATOR)
      const table = key.slice(0, Math.max(0, at))
      const existing = this.#baseIndexes.has(table)
        ? this.#namespaces.get(key.slice(at + 1))
        : undefined
      if (existing === undefined) continue
      existing.lastIndexes.set(table, index)
      this.#highestIndexes.set(table, Math.max(this.#highestIndexes.get(table) ?? 0, index))
    }
  }

  /** Indexes that a checkpoint stores beside those of the tables. */
  toStored(): StoredIndexes {
    const stored: Record<string, number> = { [DELETED_KEY]: this.#deletedIndex }
    for (const [table, base] of this.#baseIndexes) stored[baseKey(table)] = base
    for (const [namespace, { lastIndexes }] of this.#namespaces)
      for (const [table, index] of lastIndexes) stored[table + SEPARATOR + namespace] = index
    return stored
  }

  /** Records an existing namespace and the index of its creation. */
  noteCreated(namespace: string, createIndex: number): Undo | undefined {
    const before = this.#namespaces.get(namespace)
    // An updated namespace keeps its create index.
    if (before?.createIndex === createIndex) return undefined
    this.#put(namespace, { createIndex, lastIndexes: new Map() })
    const createdIndex = this.#createdIndex
    this.#createdIndex = Math.max(createdIndex, createIndex)
    return () => {
      this.#put(namespace, before)
      this.#createdIndex = createdIndex
    }
  }

  #noteDeleted(namespace: string, index: number): Undo | undefined {
    const before = this.#namespaces.get(namespace)
    if (before === undefined) return undefined
    this.#put(namespace, undefined)
    const undoRaise = this.#raiseDeletedIndex(index)
    return () => {
      undoRaise?.()
      this.#put(namespace, before)
    }
  }

  #put(namespace: string, existing: NamespaceState | undefined): void {
    this.#version++
    if (existing === undefined) this.#namespaces.delete(namespace)
    else this.#namespaces.set(namespace, existing)
  }

  #raiseDeletedIndex(index: number): Undo | undefined {
    const previousIndex = this.#deletedIndex
    if (index <= previousIndex) return undefined
    this.#deletedIndex = index
    return () => {
      this.#deletedIndex = previousIndex
    }
  }

  #coveredBy(set: NamespaceSet): CoveredNamespaces {
    const cached = this.#covered.get(set)
    if (cached?.version === this.#version) return cached
    const namespaces: NamespaceState[] = []
    for (const [name, existing] of this.#namespaces) if (set.covers(name)) namespaces.push(existing)
    const isAll = namespaces.length === this.#namespaces.size
    const covered = { version: this.#version, namespaces: isAll ? undefined : namespaces }
    this.#covered.set(set, covered)
    return covered
  }
}

function indexIn({ createIndex, lastIndexes }: NamespaceState, table: string): number {
  return Math.max(createIndex, lastIndexes.get(table) ?? 0)
}

/**
 * Table indexes of a checkpoint. A checkpoint without any, as after restoring a snapshot, may
 * follow any state, so every table gets the index of the checkpoint.
 */
export function tableIndexesIn(stored: StoredIndexes, upTo: number): (table: string) => number {
  const defaultIndex = Object.keys(stored).length === 0 ? upTo : 0
  return (table) => stored[table] ?? defaultIndex
}

const DELETED_KEY = SEPARATOR

function baseKey(table: string): string {
  return table + SEPARATOR
}
