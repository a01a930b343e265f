import { compareTexts } from './bytes.ts'
import { Float, type Key, type MapValue, type Value } from './value.ts'

/** Converts a value to a map key; undefined if it cannot be one. */
export function keyOf(value: Value): Key | undefined {
  if (value instanceof Float) return value.value
  if (value === null || typeof value === 'object') return undefined
  return value
}

/** Converts a map key to a value: whole numbers become ints. */
export function valueOfKey(key: Key): Value {
  return typeof key === 'number' && !Number.isSafeInteger(key) && Number.isInteger(key)
    ? new Float(key)
    : key
}

/** A map created by a policy. */
export class MutableMap implements MapValue {
  readonly isMap = true
  readonly #entries: Map<Key, Value>
  /** Sorted on demand, until a key is added or removed. */
  #sorted: readonly Key[] | undefined

  constructor(entries: Iterable<readonly [Key, Value]> = []) {
    this.#entries = new Map(entries)
  }

  get size(): number {
    return this.#entries.size
  }

  get(key: Key): Value | undefined {
    return this.#entries.get(key)
  }

  has(key: Key): boolean {
    return this.#entries.has(key)
  }

  set(key: Key, value: Value): void {
    if (!this.#entries.has(key)) this.#sorted = undefined
    this.#entries.set(key, value)
  }

  delete(key: Key): void {
    if (this.#entries.delete(key)) this.#sorted = undefined
  }

  keys(): readonly Key[] {
    this.#sorted ??= [...this.#entries.keys()].toSorted(compareKeys)
    return this.#sorted
  }
}

const RANKS: Readonly<Record<string, number>> = { boolean: 0, number: 1, bigint: 1, string: 2 }

export function compareKeys(left: Key, right: Key): number {
  const rank = (RANKS[typeof left] ?? 0) - (RANKS[typeof right] ?? 0)
  if (rank !== 0) return rank
  if (typeof left === 'string' && typeof right === 'string') return compareTexts(left, right)
  if (left === right) return 0
  return left < right ? -1 : 1
}

/** Creates a map of the host from names and values, such as an import. */
export function createMap(entries: Readonly<Record<string, Value>>): MapValue {
  return new MutableMap(Object.entries(entries))
}
