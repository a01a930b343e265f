import { compareKeys } from './map.ts'
import { Float, type Key, ListValue, type MapValue, type Value, wrapInt } from './value.ts'

/** JSON data of the host. Integers may be bigints. */
export type JsonValue =
  | null
  | boolean
  | string
  | number
  | bigint
  | undefined
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue }

/** How the fields of a host object appear to a policy. */
export interface FieldMapping {
  /** The name of a field in policies. */
  readonly nameOf: (field: string) => string
  /** The mapping of a field's value; the same mapping if it has none of its own. */
  readonly shapeOf: (field: string) => FieldMapping
}

/** Leaves all names unchanged, at every level. */
const AS_IS: FieldMapping = { nameOf: (field) => field, shapeOf: () => AS_IS }

/**
 * Wraps JSON data without converting it first: a job or a plan has tens of thousands of fields, and
 * a policy reads few of them.
 */
export function toLazyValue(plain: JsonValue, shape: FieldMapping = AS_IS): Value {
  if (plain === null || plain === undefined) return null
  switch (typeof plain) {
    case 'boolean':
    case 'string':
      return plain
    case 'bigint':
      return wrapInt(plain)
    case 'number':
      return numberOf(plain)
    default:
      return isList(plain)
        ? new ListValue(plain.map((item) => toLazyValue(item, shape)))
        : new LazyMap(plain, shape)
  }
}

/** JSON numbers without a fraction are ints. */
function numberOf(plain: number): Value {
  return Number.isInteger(plain) && !Number.isSafeInteger(plain) ? new Float(plain) : plain
}

function isList(plain: object): plain is readonly JsonValue[] {
  return Array.isArray(plain)
}

/** Reads its object lazily by key. The first write copies the keys into a mutable map. */
class LazyMap implements MapValue {
  readonly isMap = true
  readonly #shape: FieldMapping
  readonly #read = new Map<Key, Value>()
  /** Fields of the object by their names in policies. */
  readonly #fields: Map<Key, string>
  readonly #plain: { readonly [key: string]: JsonValue }
  #sorted: readonly Key[] | undefined

  constructor(plain: { readonly [key: string]: JsonValue }, shape: FieldMapping) {
    this.#plain = plain
    this.#shape = shape
    this.#fields = new Map(Object.keys(plain).map((field) => [shape.nameOf(field), field]))
  }

  get size(): number {
    return this.keys().length
  }

  get(key: Key): Value | undefined {
    const known = this.#read.get(key)
    if (known !== undefined) return known
    const field = this.#fields.get(key)
    if (field === undefined) return undefined
    const value = toLazyValue(this.#plain[field], this.#shape.shapeOf(field))
    this.#read.set(key, value)
    return value
  }

  has(key: Key): boolean {
    return this.#fields.has(key) || this.#read.has(key)
  }

  set(key: Key, value: Value): void {
    this.#sorted = undefined
    this.#read.set(key, value)
  }

  delete(key: Key): void {
    this.#sorted = undefined
    this.#fields.delete(key)
    this.#read.delete(key)
  }

  /** Values that were not read yet are unchanged and are read again by the copy. */
  copy(copyValue: (value: Value) => Value): MapValue {
    const copy = new LazyMap(this.#plain, this.#shape)
    for (const name of copy.#fields.keys()) if (!this.#fields.has(name)) copy.#fields.delete(name)
    for (const [name, value] of this.#read) copy.#read.set(name, copyValue(value))
    return copy
  }

  keys(): readonly Key[] {
    this.#sorted ??= [...new Set([...this.#fields.keys(), ...this.#read.keys()])].toSorted(
      compareKeys,
    )
    return this.#sorted
  }
}

/** Number of values in JSON data; calls `refuse` if they are nested deeper than `depthMax`. */
export function plainSize(plain: JsonValue, depthMax: number, refuse: () => never): number {
  if (depthMax === 0) return refuse()
  if (plain === null || typeof plain !== 'object') return 1
  let size = 1
  for (const item of isList(plain) ? plain : Object.values(plain))
    size += plainSize(item, depthMax - 1, refuse)
  return size
}

/** A run of sixteen digits may be an integer that a JavaScript number cannot represent. */
const LONG_NUMBER = /\d{16}/
const WHOLE = /^-?\d{1,19}$/

/** Parses JSON with exact 64-bit integers. Throws `SyntaxError` like `JSON.parse`. */
export function parseExactJson(text: string): JsonValue {
  if (!LONG_NUMBER.test(text)) return JSON.parse(text)
  try {
    return JSON.parse(text, (_key, value: JsonValue, ...rest: readonly unknown[]) =>
      typeof value === 'number' && !Number.isSafeInteger(value) ? exact(value, rest[0]) : value,
    )
  } catch (thrown) {
    // The reviver is recursive, so very deep values overflow the stack.
    if (thrown instanceof RangeError) throw new SyntaxError('the JSON is nested too deep')
    throw thrown
  }
}

/** The third argument of a reviver holds the source text of a number. */
function exact(value: number, context: unknown): number | bigint {
  if (typeof context !== 'object' || context === null || !('source' in context)) return value
  const { source } = context
  if (typeof source !== 'string' || !WHOLE.test(source)) return value
  const whole = BigInt(source)
  return BigInt.asIntN(64, whole) === whole ? whole : value
}
