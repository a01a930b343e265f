import { numberToText, sameNumber, type NumberValue } from '@reeve/kit/number.ts'

/**
 * What an expression yields: plain data. A whole number that a double cannot hold exactly is a
 * bigint; any other number is a number. Tuples and lists are arrays, and so are sets (`isSet`);
 * objects and maps are objects.
 */
export type Value = null | boolean | NumberValue | string | readonly Value[] | ObjectValue

export interface ObjectValue {
  readonly [name: string]: Value
}

export function isList(value: Value): value is readonly Value[] {
  return Array.isArray(value)
}

const SETS = new WeakSet<readonly Value[]>()

/** The same list, known as a set from now on. Its elements must be in order and differ. */
export function markSet(elements: readonly Value[]): readonly Value[] {
  SETS.add(elements)
  return elements
}

/**
 * A list that a conversion made a set. Everything reads it as a list, but its elements have no
 * place: who walks over it meets each as its own key. A copy is a list again.
 */
export function isSet(value: Value): value is readonly Value[] {
  return isList(value) && SETS.has(value)
}

/** What is met when walking over a collection, in order; undefined when it is none. */
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

/** The order in which objects and maps are iterated: by name, compared by code unit. */
export function sortedEntries(object: ObjectValue): readonly (readonly [string, Value])[] {
  return Object.entries(object).toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
}

/** Same type and same value: `1` and `"1"` differ. */
export function sameValue(a: Value, b: Value): boolean {
  if (isNumber(a)) return isNumber(b) && sameNumber(a, b)
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

/** JSON text in which every number is written out exactly, also the whole numbers beyond 2^53. */
export function toJson(value: Value): string {
  if (isNumber(value)) return numberToText(value)
  if (isList(value)) return `[${value.map(toJson).join(',')}]`
  if (!isObject(value)) return JSON.stringify(value)
  const members = Object.entries(value).map(
    ([name, one]) => `${JSON.stringify(name)}:${toJson(one)}`,
  )
  return `{${members.join(',')}}`
}

/** The kind of a value in the words of messages. */
export function describeValue(value: Value): string {
  if (value === null) return 'null'
  if (isList(value)) return isSet(value) ? 'set' : 'list'
  if (isObject(value)) return 'object'
  if (isNumber(value)) return 'number'
  return typeof value === 'string' ? 'string' : 'bool'
}
