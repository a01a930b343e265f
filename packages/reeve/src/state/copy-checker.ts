import type { RowIndexes } from './stored-row.ts'
import type { Table } from './table.ts'
import { createTables } from './tables.ts'

/** A row of a copy whose body has been decoded. Nothing of it is trusted. */
export interface UntrustedRow {
  readonly table: string
  readonly key: string
  readonly indexes: RowIndexes
  readonly row: object
}

/**
 * Finds what a store could not load, or would file under another name, in the rows of a copy. It
 * keeps the keys that it has seen, which is less than the store that is made of them will keep.
 */
export class CopyChecker {
  // Rows arrive untyped: what differs between the tables is inside their specs.
  readonly #tables = new Map(
    Object.entries(createTables() as unknown as Readonly<Record<string, Table<object>>>),
  )
  readonly #seen = new Map<string, Set<string>>()
  readonly #upTo: number

  /** `upTo` is the index of the copy. */
  constructor(upTo: number) {
    this.#upTo = upTo
  }

  /** What is wrong with the row; undefined when nothing is. */
  problemOf({ table, key, indexes, row }: UntrustedRow): string | undefined {
    const spec = this.#tables.get(table)?.spec
    if (spec === undefined) return `there is no table ${JSON.stringify(table)}`
    const isIndex = (value: number): boolean =>
      Number.isSafeInteger(value) && value >= 0 && value <= this.#upTo
    if (!indexes.every(isIndex))
      return `its indexes ${indexes.join(' and ')} are not between 0 and the snapshot's ${this.#upTo}`
    const own = attempt(() => spec.key(row))
    if (own !== key) return `its key is not the one of its content, ${JSON.stringify(own ?? null)}`
    for (const [name, group] of Object.entries(spec.groups)) {
      const value = attempt(() => group(row) ?? '')
      if (typeof value !== 'string') return `its content has no valid ${name}`
    }
    return this.#isNew(table, key) ? undefined : 'the row is there twice'
  }

  #isNew(table: string, key: string): boolean {
    const seen = this.#seen.get(table) ?? new Set()
    this.#seen.set(table, seen)
    const { size } = seen
    return seen.add(key).size > size
  }
}

/** Undefined when the function throws: it was written for rows that have their members. */
function attempt<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (thrown) {
    if (thrown instanceof TypeError || thrown instanceof RangeError) return undefined
    throw thrown
  }
}
