import { KEY_LENGTH_MAX } from '../limits.ts'
import { LimitExceeded, spend } from './fuel.ts'
import { BigNumber, compareNumbers, type NumberValue } from './number.ts'

/**
 * Values of policies. `undefined` in place of a value means that there is none. Values are
 * immutable once they are shared.
 */
export type Value =
  | null
  | boolean
  | NumberValue
  | string
  | readonly Value[]
  | ObjectValue
  | SetValue

export type Kind = 'null' | 'boolean' | 'number' | 'string' | 'array' | 'object' | 'set'

export function isArray(value: Value | undefined): value is readonly Value[] {
  return Array.isArray(value)
}

export function isNumber(value: Value | undefined): value is NumberValue {
  return typeof value === 'number' || value instanceof BigNumber
}

export function kindOf(value: Value): Kind {
  switch (typeof value) {
    case 'string':
      return 'string'
    case 'number':
      return 'number'
    case 'boolean':
      return 'boolean'
    default:
      if (value === null) return 'null'
      if (Array.isArray(value)) return 'array'
      // The remaining members of the union are arrays, which were tested before, and three classes.
      return 'kind' in value ? value.kind : 'number'
  }
}

const RANK = {
  null: 0,
  boolean: 1,
  number: 2,
  string: 3,
  array: 4,
  object: 5,
  set: 6,
} as const satisfies Record<Kind, number>

/** The total order of values: null < boolean < number < string < array < object < set. */
export function compare(a: Value, b: Value): number {
  if (a === b) return 0
  if (typeof a === 'string' && typeof b === 'string') return compareStrings(a, b)
  if (typeof a === 'number' && typeof b === 'number') return a - b
  return compareWithin(a, b)
}

/** Compares by code point, which differs from the order of UTF-16 units above U+D7FF. */
export function compareStrings(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let at = 0; at < length; at++) {
    const x = a.charCodeAt(at)
    const y = b.charCodeAt(at)
    if (x !== y) return codePointOrder(x) - codePointOrder(y)
  }
  return a.length - b.length
}

/** Surrogates represent characters after all others. */
function codePointOrder(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit
}

export function equal(a: Value, b: Value): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (a instanceof BigNumber)
    return b instanceof BigNumber && a.digits === b.digits && a.exponent === b.exponent
  if (isArray(a)) {
    if (!isArray(b) || a.length !== b.length) return false
  } else if (!('size' in b) || a.kind !== b.kind || a.size !== b.size) return false
  return compareWithin(a, b) === 0
}

function compareWithin(a: Value, b: Value): number {
  if (a === b) return 0
  spend(1)
  const kind = kindOf(a)
  const other = kindOf(b)
  if (kind !== other) return RANK[kind] - RANK[other]
  if (typeof a === 'string' && typeof b === 'string') return compareStrings(a, b)
  if (isNumber(a) && isNumber(b)) return compareNumbers(a, b)
  if (typeof a === 'boolean') return a ? 1 : -1
  if (isArray(a) && isArray(b)) return compareLists(a, b)
  if (isCollection(a) && isCollection(b)) {
    if (a.kind === 'set' && b.kind === 'set') return compareLists(a.sorted(), b.sorted())
    if (a.kind === 'object' && b.kind === 'object') return compareObjects(a, b)
  }
  return 0
}

function isCollection(value: Value): value is SetValue | ObjectValue {
  return typeof value === 'object' && value !== null && 'size' in value
}

function compareLists(a: readonly Value[], b: readonly Value[]): number {
  const length = Math.min(a.length, b.length)
  for (let at = 0; at < length; at++) {
    const order = compareWithin(a[at] ?? null, b[at] ?? null)
    if (order !== 0) return order
  }
  return a.length - b.length
}

/** Compares key by key in order, each key before its value. */
function compareObjects(a: ObjectValue, b: ObjectValue): number {
  const left = a.keys()
  const right = b.keys()
  const length = Math.min(left.length, right.length)
  for (let at = 0; at < length; at++) {
    const x = left[at] ?? null
    const y = right[at] ?? null
    const order = compareWithin(x, y) || compareWithin(a.get(x) ?? null, b.get(y) ?? null)
    if (order !== 0) return order
  }
  return left.length - right.length
}

/**
 * Key of a value in a `Map`: equal values have equal keys, and only they do. Scalars are their own
 * keys. Composite values become strings with the prefix `MARK`, and so do strings that start with
 * it.
 */
export type Key = string | number | boolean | null

const MARK = '\0'

export function keyOf(value: Value): Key {
  if (typeof value === 'string') return value.startsWith(MARK) ? `${MARK}"${value}` : value
  if (typeof value !== 'object' || value === null) return value
  return textOf(value)
}

/** Reports whether a key is the value itself. */
function isOwnKey(key: Key): boolean {
  return typeof key !== 'string' || !key.startsWith(MARK)
}

const arrayTexts = new WeakMap<readonly Value[], string>()

function textOf(value: Exclude<Value, string | number | boolean | null>): string {
  if (value instanceof BigNumber) return `${MARK}${value.digits}e${value.exponent}`
  if (!isArray(value)) return value.canonicalText()
  const known = arrayTexts.get(value)
  if (known !== undefined) return known
  const text = bounded(`${MARK}[${value.map(memberText).join(',')}]`)
  arrayTexts.set(value, text)
  return text
}

/** Returns an unambiguous part of a longer string: strings are prefixed by their length. */
function memberText(value: Value): string {
  if (typeof value === 'string') return `${value.length}"${value}`
  if (typeof value !== 'object' || value === null) return String(value)
  return textOf(value)
}

/** Characters of a key that cost about as much as one visited value, as a power of two. */
const KEY_UNITS_SHIFT = 4

function bounded(text: string): string {
  spend(text.length >> KEY_UNITS_SHIFT)
  if (text.length > KEY_LENGTH_MAX)
    throw new LimitExceeded('a set member or object key is too large')
  return text
}

/** A set. Build it with `SetBuilder`; afterwards it does not change. */
export class SetValue {
  readonly kind = 'set'
  readonly #members: ReadonlyMap<Key, Value>
  #sorted: readonly Value[] | undefined
  #text: string | undefined

  constructor(members: ReadonlyMap<Key, Value>) {
    this.#members = members
  }

  get size(): number {
    return this.#members.size
  }

  has(value: Value): boolean {
    return this.#members.has(keyOf(value))
  }

  /** Returns the members in arbitrary order, for work whose result does not depend on it. */
  unordered(): Iterable<Value> {
    return this.#members.values()
  }

  /** Returns the members in the order of values. */
  sorted(): readonly Value[] {
    this.#sorted ??= [...this.#members.values()].toSorted(compare)
    return this.#sorted
  }

  /** Returns a text that is equal for equal sets. */
  canonicalText(): string {
    this.#text ??= bounded(`\0<${this.sorted().map(memberText).join(',')}>`)
    return this.#text
  }
}

export class SetBuilder {
  readonly #members = new Map<Key, Value>()

  get size(): number {
    return this.#members.size
  }

  add(value: Value): this {
    const key = keyOf(value)
    if (!this.#members.has(key)) this.#members.set(key, value)
    return this
  }

  addAll(values: Iterable<Value>): this {
    for (const value of values) this.add(value)
    return this
  }

  delete(value: Value): this {
    this.#members.delete(keyOf(value))
    return this
  }

  has(value: Value): boolean {
    return this.#members.has(keyOf(value))
  }

  /** The builder must not be used afterwards. */
  build(): SetValue {
    return this.#members.size === 0 ? EMPTY_SET : new SetValue(this.#members)
  }
}

export const EMPTY_SET = new SetValue(new Map())

export function setOf(values: Iterable<Value>): SetValue {
  return new SetBuilder().addAll(values).build()
}

export type Entry = readonly [key: Value, value: Value]

/** An object; keys are any values. Build it with `ObjectBuilder`; afterwards it does not change. */
export class ObjectValue {
  readonly kind = 'object'
  readonly #values: ReadonlyMap<Key, Value>
  /** Values of keys that are not their own `Key`. */
  readonly #composite: ReadonlyMap<Key, Value> | undefined
  #keys: readonly Value[] | undefined
  #text: string | undefined

  constructor(values: ReadonlyMap<Key, Value>, composite?: ReadonlyMap<Key, Value>) {
    this.#values = values
    this.#composite = composite
  }

  get size(): number {
    return this.#values.size
  }

  get(key: Value): Value | undefined {
    return this.#values.get(typeof key === 'number' ? key : keyOf(key))
  }

  has(key: Value): boolean {
    return this.#values.has(keyOf(key))
  }

  /** Returns the keys in the order of values. */
  keys(): readonly Value[] {
    this.#keys ??= this.#sortKeys()
    return this.#keys
  }

  values(): readonly Value[] {
    return this.keys().map((key) => this.#valueAt(key))
  }

  /** Returns the entries in the order of keys. */
  entries(): readonly Entry[] {
    return this.keys().map((key) => [key, this.#valueAt(key)])
  }

  #valueAt(key: Value): Value {
    // The keys come from the map itself.
    return this.#values.get(keyOf(key)) ?? null
  }

  #sortKeys(): readonly Value[] {
    const texts: string[] = []
    const keys: Value[] = []
    for (const key of this.#values.keys()) {
      const original = this.#composite?.get(key) ?? key
      keys.push(original)
      if (typeof original === 'string') texts.push(original)
    }
    // Most objects have only string keys, which are sorted faster among themselves.
    return texts.length === keys.length ? texts.toSorted(compareStrings) : keys.toSorted(compare)
  }

  /** Returns a text that is equal for equal objects. */
  canonicalText(): string {
    this.#text ??= bounded(
      `\0{${this.entries()
        .map(([key, value]) => `${memberText(key)}:${memberText(value)}`)
        .join(',')}}`,
    )
    return this.#text
  }
}

export class ObjectBuilder {
  readonly #values = new Map<Key, Value>()
  #composite: Map<Key, Value> | undefined

  get size(): number {
    return this.#values.size
  }

  get(key: Value): Value | undefined {
    return this.#values.get(keyOf(key))
  }

  set(key: Value, value: Value): this {
    const own = keyOf(key)
    this.#values.set(own, value)
    if (!isOwnKey(own)) {
      this.#composite ??= new Map()
      this.#composite.set(own, key)
    }
    return this
  }

  setAll(object: ObjectValue): this {
    for (const [key, value] of object.entries()) this.set(key, value)
    return this
  }

  delete(key: Value): this {
    const own = keyOf(key)
    this.#values.delete(own)
    this.#composite?.delete(own)
    return this
  }

  /** The builder must not be used afterwards. */
  build(): ObjectValue {
    return new ObjectValue(this.#values, this.#composite)
  }
}

export const EMPTY_OBJECT = new ObjectValue(new Map())

export function objectOf(entries: Iterable<Entry>): ObjectValue {
  const builder = new ObjectBuilder()
  for (const [key, value] of entries) builder.set(key, value)
  return builder.build()
}
