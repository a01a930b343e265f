import { numberToText, numbersEqual, type NumberValue } from '@reeve/kit/number.ts'

/**
 * The result of an expression: plain data. An integer that a double cannot represent is a bigint;
 * any other number is a number. Tuples, lists and sets (`isSet`) are arrays; objects and maps are
 * objects.
 */
export type Value = null | boolean | NumberValue | string | readonly Value[] | ObjectValue

export interface ObjectValue {
  readonly [name: string]: Value
}

export function isList(value: Value): value is readonly Value[] {
  return Array.isArray(value)
}

const SETS = new WeakSet<readonly Value[]>()

/** Marks a list as a set. Its elements must be sorted and distinct. */
export function markSet(elements: readonly Value[]): readonly Value[] {
  SETS.add(elements)
  return elements
}

/**
 * Whether a list was converted to a set. It reads like a list, but its elements have no index:
 * iteration uses each element as its own key. A copy is a list again.
 */
export function isSet(value: Value): value is readonly Value[] {
  return isList(value) && SETS.has(value)
}

/** Keys and values of a collection in iteration order; undefined for other values. */
export function entriesOf(value: Value): readonly (readonly [Value, Value])[] | undefined {
  if (isSet(value)) return value.map((element) => [element, element])
  if (isList(value)) return [...value.entries()]
  return isObject(value) ? sortedEntries(value) : undefined
}

export function isObject(value: Value): value is ObjectValue {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function isNumber(value: Value): value is NumberValue {
  return typeof value === 'number' || typeof value === 'bigint'
}

/** Every name, even `__proto__`, becomes an own property. Later entries win. */
export function makeObject(entries: Iterable<readonly [string, Value]>): ObjectValue {
  return Object.fromEntries(entries)
}

export function getAttribute(object: ObjectValue, name: string): Value | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined
}

/** Objects and maps are iterated by name in code unit order. */
export function sortedEntries(object: ObjectValue): readonly (readonly [string, Value])[] {
  return Object.entries(object).toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
}

/** Equal type and value: `1` and `"1"` differ. */
export function sameValue(a: Value, b: Value): boolean {
  if (isNumber(a)) return isNumber(b) && numbersEqual(a, b)
  if (isList(a)) {
    if (!isList(b) || a.length !== b.length) return false
    return a.every((element, index) => {
      const other = b[index]
      return other !== undefined && sameValue(element, other)
    })
  }
  if (!isObject(a)) return a === b
  if (!isObject(b)) return false
  const names = Object.keys(a)
  if (names.length !== Object.keys(b).length) return false
  return names.every((name) => {
    const left = getAttribute(a, name)
    const right = getAttribute(b, name)
    return left !== undefined && right !== undefined && sameValue(left, right)
  })
}

/** JSON with exact numbers, including integers beyond 2^53. */
export function toJson(value: Value): string {
  if (isNumber(value)) return numberToText(value)
  if (isList(value)) return `[${value.map(toJson).join(',')}]`
  if (!isObject(value)) return JSON.stringify(value)
  const members = Object.entries(value).map(
    ([name, one]) => `${JSON.stringify(name)}:${toJson(one)}`,
  )
  return `{${members.join(',')}}`
}

/** Describes the kind of a value for messages. */
export function describeValue(value: Value): string {
  if (value === null) return 'null'
  if (isList(value)) return isSet(value) ? 'set' : 'list'
  if (isObject(value)) return 'object'
  if (isNumber(value)) return 'number'
  return typeof value === 'string' ? 'string' : 'bool'
}
