import type { RowIndexes } from './stored-row.ts'
import type { Undo } from './table.ts'

/** The namespaces whose rows a reader looks at. */
export type NamespaceScope =
  | { readonly kind: 'one'; readonly namespace: string }
  | { readonly kind: 'every' }
  | NamespaceSet

/** Some namespaces, of those that exist and those that will. The same rights share one set. */
export interface NamespaceSet {
  readonly kind: 'some'
  readonly covers: (namespace: string) => boolean
}

/** A row that was written, or deleted (no header). */
export interface NamespacedWrite {
  readonly table: string
  readonly key: string
  readonly namespace?: string | undefined
  readonly header: RowIndexes | undefined
}

/** The indexes of a checkpoint, by table, and by table and namespace. */
type StoredIndexes = Readonly<Record<string, number>>

interface Existing {
  readonly createdAt: number
  /** The last write to the namespace, by table. */
  readonly lastIndexes: Map<string, number>
}

interface Covered {
  readonly version: number
  /** Those that exist; undefined when the set covers all of them. */
  readonly namespaces: readonly Existing[] | undefined
}

/** The table whose rows are the namespaces themselves. */
const NAMESPACES = 'namespaces'
/** Not part of a namespace's name, nor of a table's. */
const SEPARATOR = '!'

/**
 * The last index of each table in each namespace, so that a reader of one namespace neither waits
 * for nor learns of writes to the others (decision 0066).
 *
 * Every value follows from the checkpoint and the log alone: all servers of a cluster have the same
 * one at the same commit, and it is the same after a restart. It never decreases, although nothing
 * is kept of a namespace that was deleted: one that does not exist has the index of the last
 * deletion of any namespace, and one that is created anew has at least the index of its creation.
 */
export class NamespaceIndexes {
  /** What counts for namespaces that were not written to since, by table. */
  readonly #base = new Map<string, number>()
  /** The last write to any namespace that existed then, by table. */
  readonly #highest = new Map<string, number>()
  readonly #existing = new Map<string, Existing>()
  readonly #covered = new WeakMap<NamespaceSet, Covered>()
  /** The last deletion of a namespace, or write to one that does not exist. */
  #goneIndex = 0
  #createdIndex = 0
  /** Another number whenever a namespace is created or deleted. */
  #version = 0

  /** Tables whose rows are in namespaces. */
  constructor(tables: Iterable<string>) {
    for (const table of tables) this.#base.set(table, 0)
  }

  /** Namespaces of which something is kept. */
  get size(): number {
    return this.#existing.size
  }

  /** The index of a namespace's rows in a table. */
  indexOf(table: string, namespace: string): number {
    const base = this.#base.get(table) ?? 0
    const existing = this.#existing.get(namespace)
    return Math.max(base, existing === undefined ? this.#goneIndex : indexIn(existing, table))
  }

  indexOfSome(table: string, scope: Exclude<NamespaceScope, { readonly kind: 'every' }>): number {
    return scope.kind === 'one'
      ? this.indexOf(table, scope.namespace)
      : this.indexOfSet(table, scope)
  }

  /**
   * The highest index of the namespaces that a set covers. It counts when a namespace goes, because
   * it was perhaps one of the set.
   */
  indexOfSet(table: string, set: NamespaceSet): number {
    const { namespaces } = this.#coveredBy(set)
    let highest = Math.max(this.#base.get(table) ?? 0, this.#goneIndex)
    if (namespaces === undefined)
      return Math.max(highest, this.#createdIndex, this.#highest.get(table) ?? 0)
    for (const existing of namespaces) highest = Math.max(highest, indexIn(existing, table))
    return highest
  }

  /** Notes a row of a commit. Gives what takes it back, if anything has changed. */
  wrote({ table, key, namespace, header }: NamespacedWrite, index: number): Undo | undefined {
    if (table === NAMESPACES)
      return header === undefined ? this.#deleted(key, index) : this.created(key, header[0])
    if (namespace === undefined || !this.#base.has(table)) return undefined
    const existing = this.#existing.get(namespace)
    if (existing === undefined) return this.#raiseGone(index)
    const { lastIndexes } = existing
    const before = lastIndexes.get(table)
    if (before === index) return undefined
    const highest = this.#highest.get(table) ?? 0
    lastIndexes.set(table, index)
    this.#highest.set(table, index)
    return () => {
      this.#highest.set(table, highest)
      if (before === undefined) lastIndexes.delete(table)
      else lastIndexes.set(table, before)
    }
  }

  /** Takes over what a checkpoint reaching to `upTo` holds; its namespaces were created already. */
  restore(stored: StoredIndexes, upTo: number): void {
    const indexOf = tableIndexesIn(stored, upTo)
    for (const table of this.#base.keys())
      this.#base.set(table, stored[baseKey(table)] ?? indexOf(table))
    this.#goneIndex = stored[GONE_KEY] ?? 0
    for (const [key, index] of Object.entries(stored)) {
      const at = key.indexOf(SEPARATOR)
      const table = key.slice(0, Math.max(0, at))
      const existing = this.#base.has(table) ? this.#existing.get(key.slice(at + 1)) : undefined
      if (existing === undefined) continue
      existing.lastIndexes.set(table, index)
      this.#highest.set(table, Math.max(this.#highest.get(table) ?? 0, index))
    }
  }

  /** What a checkpoint keeps beside the indexes of the tables. */
  stored(): StoredIndexes {
    const stored: Record<string, number> = { [GONE_KEY]: this.#goneIndex }
    for (const [table, base] of this.#base) stored[baseKey(table)] = base
    for (const [namespace, { lastIndexes }] of this.#existing)
      for (const [table, index] of lastIndexes) stored[table + SEPARATOR + namespace] = index
    return stored
  }

  /** Notes a namespace that exists, and the index of its creation. */
  created(namespace: string, createdAt: number): Undo | undefined {
    const before = this.#existing.get(namespace)
    // A namespace that is written again keeps the index of its creation.
    if (before?.createdAt === createdAt) return undefined
    this.#put(namespace, { createdAt, lastIndexes: new Map() })
    const createdIndex = this.#createdIndex
    this.#createdIndex = Math.max(createdIndex, createdAt)
    return () => {
      this.#put(namespace, before)
      this.#createdIndex = createdIndex
    }
  }

  #deleted(namespace: string, index: number): Undo | undefined {
    const before = this.#existing.get(namespace)
    if (before === undefined) return undefined
    this.#put(namespace, undefined)
    const undoGone = this.#raiseGone(index)
    return () => {
      undoGone?.()
      this.#put(namespace, before)
    }
  }

  #put(namespace: string, existing: Existing | undefined): void {
    this.#version++
    if (existing === undefined) this.#existing.delete(namespace)
    else this.#existing.set(namespace, existing)
  }

  #raiseGone(index: number): Undo | undefined {
    const goneIndex = this.#goneIndex
    if (index <= goneIndex) return undefined
    this.#goneIndex = index
    return () => {
      this.#goneIndex = goneIndex
    }
  }

  #coveredBy(set: NamespaceSet): Covered {
    const known = this.#covered.get(set)
    if (known?.version === this.#version) return known
    const namespaces: Existing[] = []
    for (const [name, existing] of this.#existing) if (set.covers(name)) namespaces.push(existing)
    const isAll = namespaces.length === this.#existing.size
    const covered = { version: this.#version, namespaces: isAll ? undefined : namespaces }
    this.#covered.set(set, covered)
    return covered
  }
}

function indexIn({ createdAt, lastIndexes }: Existing, table: string): number {
  return Math.max(createdAt, lastIndexes.get(table) ?? 0)
}

/**
 * The indexes of the tables in a checkpoint. One that tells of no table, as a restored snapshot
 * begins, may follow any state that reached up to it.
 */
export function tableIndexesIn(stored: StoredIndexes, upTo: number): (table: string) => number {
  const untold = Object.keys(stored).length === 0 ? upTo : 0
  return (table) => stored[table] ?? untold
}

const GONE_KEY = SEPARATOR

function baseKey(table: string): string {
  return table + SEPARATOR
}
