import { compareTexts } from './bytes.ts'
import { Float } from './int.ts'
import type { Key, MapValue, Value } from './value.ts'

/** The key that a value is as; undefined when it cannot be one. */
export function keyOf(value: Value): Key | undefined {
  if (value instanceof Float) return value.value
  if (value === null || typeof value === 'object') return undefined
  return value
}

/** How a key reads when a program gets it back: a whole number is an int again. */
export function valueOfKey(key: Key): Value {
  return typeof key === 'number' && !Number.isSafeInteger(key) && Number.isInteger(key)
    ? new Float(key)
    : key
}

/** The map that a program makes. */
export class OwnMap implements MapValue {
  readonly isMap = true
  readonly #entries: Map<Key, Value>
  /** Sorted when asked for, and until a key comes or goes. */
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

/** A map of the host: names to values, as imports are. */
export function mapOf(entries: Readonly<Record<string, Value>>): MapValue {
  return new OwnMap(Object.entries(entries))
}
