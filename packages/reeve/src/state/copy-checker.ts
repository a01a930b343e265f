import type { RowIndexes } from './stored-row.ts'
import type { Table } from './table.ts'
import { createTables } from './tables.ts'

/** A decoded row of a snapshot. None of its content is trusted. */
export interface UntrustedRow {
  readonly table: string
  readonly key: string
  readonly indexes: RowIndexes
  readonly row: object
}

/**
 * Checks the rows of a snapshot for content that a store could not load or would store under
 * another key. Remembers all keys seen, which needs less memory than the store built from them.
 */
export class SnapshotChecker {
  // Rows arrive untyped; the specs handle the differences between tables.
  readonly #tables = new Map(
    Object.entries(createTables() as unknown as Readonly<Record<string, Table<object>>>),
  )
  readonly #seen = new Map<string, Set<string>>()
  readonly #snapshotIndex: number

  /** `upTo` is the index of the snapshot. */
  constructor(upTo: number) {
    this.#snapshotIndex = upTo
  }

  /** Returns the problem of a row; undefined if it is valid. */
  findProblem({ table, key, indexes, row }: UntrustedRow): string | undefined {
    const spec = this.#tables.get(table)?.spec
    if (spec === undefined) return `there is no table ${JSON.stringify(table)}`
    const isIndex = (value: number): boolean =>
      Number.isSafeInteger(value) && value >= 0 && value <= this.#snapshotIndex
    if (!indexes.every(isIndex))
      return `its indexes ${indexes.join(' and ')} are not between 0 and the snapshot's ${this.#snapshotIndex}`
    const expectedKey = tryRead(() => spec.key(row))
    if (expectedKey !== key)
      return `its key is not the one of its content, ${JSON.stringify(expectedKey ?? null)}`
    for (const [name, indexKeyOf] of Object.entries(spec.indexes)) {
      const value = tryRead(() => indexKeyOf(row) ?? '')
      if (typeof value !== 'string') return `its content has no valid ${name}`
    }
    return this.#addSeen(table, key) ? undefined : 'the row is there twice'
  }

  #addSeen(table: string, key: string): boolean {
    const seen = this.#seen.get(table) ?? new Set()
    this.#seen.set(table, seen)
    const { size } = seen
    return seen.add(key).size > size
  }
}

/** Undefined if the function throws because a field of the untrusted row is missing. */
function tryRead<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (thrown) {
    if (thrown instanceof TypeError || thrown instanceof RangeError) return undefined
    throw thrown
  }
}
