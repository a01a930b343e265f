import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  BOOL,
  describeValue,
  getAttribute,
  isList,
  isNumber,
  isObject,
  quoteText,
  sameValue,
  STRING,
  toText,
  type FunctionDefinition,
  type StepBudget,
  type Value,
  ANY,
  convert,
  setOf,
  type FunctionError,
  makeObject,
  sortedEntries,
  typeOf,
  unifyAll,
} from '@reeve/hcl'
import {
  any,
  homogeneousList,
  list,
  typedList,
  listOrNull,
  nonNull,
  strings,
  integer,
  object,
  objectOrNull,
  text,
  stringListsByName,
} from './argument.ts'
import { countGraphemes } from './text/character.ts'
import {
  define,
  defineVariadic,
  chargeSteps,
  fail,
  failArgument,
  type FunctionResult,
} from './define.ts'
import { toJsonString } from './encoding.ts'

export const listFunctions: Readonly<Record<string, FunctionDefinition>> = {
  alltrue: define([typedList('list', BOOL)], ([values]) => ok(values.every((one) => one === true))),
  anytrue: define([typedList('list', BOOL)], ([values]) => ok(values.some((one) => one === true))),
  chunklist: define([homogeneousList('list'), integer('size', { min: 0 })], ([values, size]) =>
    ok(toChunks(values, size)),
  ),
  coalesce: defineVariadic({ parameters: [], rest: any('vals'), countMin: 1 }, (_, values) =>
    coalesce(values),
  ),
  coalescelist: defineVariadic(
    { parameters: [], rest: listOrNull('vals'), countMin: 1 },
    (_, lists) => {
      const found = lists.find((one) => one !== null && one.length > 0)
      return found === undefined || found === null ? fail('all lists are empty or null') : ok(found)
    },
  ),
  compact: define([typedList('list', STRING)], ([values]) =>
    ok(values.filter((one) => one !== null && one !== '')),
  ),
  concat: defineVariadic({ parameters: [], rest: list('seqs'), countMin: 1 }, (_, lists) =>
    ok(lists.flat()),
  ),
  contains: define([list('list'), any('value')], ([values, value]) =>
    ok(values.some((one) => sameValue(one, value))),
  ),
  distinct: define([homogeneousList('list')], ([values]) => ok(distinct(values))),
  element: define([list('list'), integer('index')], ([values, index]) => {
    const { length } = values
    if (length === 0) return failArgument(0, 'list must not be empty')
    return ok(values[((index % length) + length) % length] ?? null)
  }),
  flatten: define([list('list')], ([values]) => ok(flatten(values))),
  index: define([nonNull('collection'), nonNull('key')], ([collection, key]) =>
    indexOf(collection, key),
  ),
  length: define([nonNull('value')], ([value], meter) => lengthOf(value, meter)),
  matchkeys: define(
    [list('values'), homogeneousList('keys'), homogeneousList('searchset')],
    ([values, keys, searchset]) => matchKeys(values, keys, searchset),
  ),
  one: define([listOrNull('list')], ([values]) => {
    if (values === null || values.length === 0) return ok(null)
    if (values.length === 1) return ok(values[0] ?? null)
    return failArgument(0, `list must have at most one element, but it has ${values.length}`)
  }),
  reverse: define([list('list')], ([values]) => ok(values.toReversed())),
  slice: define(
    [list('list'), integer('start_index', { min: 0 }), integer('end_index', { min: 0 })],
    ([values, start, end]) => slice(values, start, end),
  ),
  sort: define([strings('list')], ([values], meter) => {
    const paid = chargeSteps(meter, values.length * Math.log2(values.length + 1))
    return paid.ok ? ok(values.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0))) : paid
  }),
}

/** A size of 0 means a single chunk. */
function toChunks(values: readonly Value[], size: number): readonly Value[] {
  if (values.length === 0) return []
  if (size === 0) return [values]
  const chunks: Value[] = []
  for (let at = 0; at < values.length; at += size) chunks.push(values.slice(at, at + size))
  return chunks
}

/** Only null is skipped: an empty string is a valid value. */
function coalesce(values: readonly Value[]): FunctionResult {
  const alike = unifyValues(values)
  if (alike === undefined) return fail('all arguments must have the same type')
  const found = alike.find((one) => one !== null)
  return found === undefined ? fail('all arguments are null') : ok(found)
}

/** Compares by JSON text, so that long lists need no pairwise comparison. */
function distinct(values: readonly Value[]): readonly Value[] {
  const byText = new Map<string, Value>()
  for (const one of values) {
    const key = toJsonString(one)
    if (!byText.has(key)) byText.set(key, one)
  }
  return [...byText.values()]
}

/** Recursion is bounded by the maximum nesting of values. */
function flatten(values: readonly Value[]): readonly Value[] {
  return values.flatMap((one) => (isList(one) ? flatten(one) : [one]))
}

/**
 * With a number, returns the element at that index; with another key, the index of that element, or
 * the member of that name in an object.
 */
function indexOf(collection: Value, key: Value): FunctionResult {
  if (isObject(collection)) {
    const found = getAttribute(collection, toText(key) ?? '')
    return found === undefined
      ? failArgument(1, `collection has no key ${describeKey(key)}`)
      : ok(found)
  }
  if (!isList(collection)) return failArgument(0, 'collection must be a list, a map or an object')
  if (isNumber(key)) {
    const found = collection[Number(key)]
    return found === undefined
      ? failArgument(1, `key must be a whole number from 0 to ${collection.length - 1}`)
      : ok(found)
  }
  const index = collection.findIndex((one) => sameValue(one, key))
  return index >= 0 ? ok(index) : failArgument(1, `collection does not contain ${describeKey(key)}`)
}

function describeKey(key: Value): string {
  const string = toText(key)
  return string === undefined ? `such a ${describeValue(key)}` : quoteText(string)
}

function lengthOf(value: Value, meter: StepBudget): FunctionResult {
  if (isList(value)) return ok(value.length)
  if (isObject(value)) return ok(Object.keys(value).length)
  if (typeof value !== 'string')
    return failArgument(0, 'value must be a list, a map, an object or a string')
  const paid = chargeSteps(meter, value.length)
  return paid.ok ? ok(countGraphemes(value)) : paid
}

function matchKeys(
  values: readonly Value[],
  keys: readonly Value[],
  searchset: readonly Value[],
): FunctionResult {
  if (values.length !== keys.length)
    return failArgument(
      1,
      `keys must be as many as values, but there are ${keys.length} keys and ${values.length} values`,
    )
  const alike = unifyValues([...keys, ...searchset])
  if (alike === undefined) return failArgument(2, 'searchset must have the type of keys')
  const wanted = new Set(alike.slice(keys.length).map(toJsonString))
  return ok(values.filter((_, index) => wanted.has(toJsonString(alike[index] ?? null))))
}

function slice(values: readonly Value[], start: number, end: number): FunctionResult {
  if (end > values.length)
    return failArgument(2, `end_index must be at most ${values.length}, the length of the list`)
  if (start > end) return failArgument(1, 'start_index must not be greater than end_index')
  return ok(values.slice(start, end))
}

/**
 * Sets are passed and returned as lists: numbers sorted by value, everything else by JSON text,
 * without duplicates. Elements of all sets of a call are first converted to one type.
 */
export const setFunctions: Readonly<Record<string, FunctionDefinition>> = {
  setintersection: defineVariadic(
    { parameters: [homogeneousList('first_set')], rest: homogeneousList('other_sets') },
    ([first], others) => combine([first, ...others], (counts, setCount) => counts === setCount),
  ),
  setproduct: defineVariadic(
    {
      parameters: [homogeneousList('first_set')],
      rest: homogeneousList('other_sets'),
      countMin: 1,
    },
    ([first], others, meter) => product([first, ...others], meter),
  ),
  setsubtract: define([homogeneousList('a'), homogeneousList('b')], ([a, b]) =>
    // Counting the second set twice leaves count 1 for elements of the first set only.
    combine([a, b, b], (count) => count === 1),
  ),
  setsymmetricdifference: defineVariadic(
    { parameters: [homogeneousList('first_set')], rest: homogeneousList('other_sets') },
    ([first], others) => combine([first, ...others], (count) => count % 2 === 1),
  ),
  setunion: defineVariadic(
    { parameters: [homogeneousList('first_set')], rest: homogeneousList('other_sets') },
    ([first], others) => combine([first, ...others], () => true),
  ),
}

/** Keeps the values whose number of containing sets satisfies `isKept`. */
function combine(
  sets: readonly (readonly Value[])[],
  isKept: (count: number, setCount: number) => boolean,
): FunctionResult {
  const alike = toOneType(sets)
  if (!alike.ok) return alike
  const found = new Map<string, { readonly value: Value; count: number }>()
  for (const set of alike.value)
    for (const [key, value] of new Map(set.map((one) => [toJsonString(one), one]))) {
      const entry = found.get(key)
      if (entry === undefined) found.set(key, { value, count: 1 })
      else entry.count++
    }
  const kept = [...found.values()].filter(({ count }) => isKept(count, sets.length))
  return toSet(kept.map(({ value }) => value))
}

function toOneType(
  sets: readonly (readonly Value[])[],
): Result<readonly (readonly Value[])[], FunctionError> {
  const alike = unifyValues(sets.flat())
  if (alike === undefined) return err({ message: 'all sets must have elements of the same type' })
  let at = 0
  return ok(sets.map(({ length }) => alike.slice(at, (at += length))))
}

/** Sorted as by the language's own conversion to a set. */
function toSet(values: readonly Value[]): FunctionResult {
  const set = convert(values, setOf(ANY))
  return set.ok ? set : err({ message: set.error.message })
}

/** The Cartesian product. The last list varies fastest. */
function product(lists: readonly (readonly Value[])[], meter: StepBudget): FunctionResult {
  const count = lists.reduce((total, { length }) => total * length, 1)
  // Checked before allocation: each combination has one element of every list.
  const paid = chargeSteps(meter, count * lists.length)
  if (!paid.ok) return paid
  const combinations: Value[] = []
  for (let index = 0; index < count; index++) combinations.push(combinationAt(lists, index))
  return ok(combinations)
}

/** Interprets the index as digits that select the elements; the last list is the lowest digit. */
function combinationAt(lists: readonly (readonly Value[])[], index: number): readonly Value[] {
  let rest = index
  const reversed: Value[] = []
  for (const elements of lists.toReversed()) {
    reversed.push(elements[rest % elements.length] ?? null)
    rest = Math.floor(rest / elements.length)
  }
  return reversed.toReversed()
}

export const mapFunctions: Readonly<Record<string, FunctionDefinition>> = {
  keys: define([object('map')], ([map]) => ok(sortedEntries(map).map(([name]) => name))),
  lookup: defineVariadic(
    { parameters: [object('map'), text('key')], rest: any('default'), countMax: 1 },
    ([map, key], [fallback]) => {
      // A null member exists.
      const member = getAttribute(map, key)
      const found = member === undefined ? fallback : member
      return found === undefined
        ? failArgument(1, `map has no key ${quoteText(key)}, and no default is given`)
        : ok(found)
    },
  ),
  merge: defineVariadic({ parameters: [], rest: objectOrNull('maps') }, (_, maps) => {
    if (maps.length > 0 && maps.every((one) => one === null)) return ok(null)
    return ok(makeObject(maps.flatMap((one) => Object.entries(one ?? {}))))
  }),
  transpose: define([stringListsByName('values')], ([entries]) => ok(transpose(entries))),
  values: define([object('map')], ([map]) => ok(sortedEntries(map).map(([, value]) => value))),
  zipmap: define([strings('keys'), list('values')], ([keys, values]) => zip(keys, values)),
}

/** Swaps keys and elements; both sorted, without duplicates. */
function transpose(entries: readonly (readonly [string, readonly string[]])[]): Value {
  const namesOf = new Map<string, Set<string>>()
  for (const [name, elements] of entries)
    for (const element of elements) {
      const names = namesOf.get(element)
      if (names === undefined) namesOf.set(element, new Set([name]))
      else names.add(name)
    }
  return makeObject(
    [...namesOf]
      .map(([element, names]): [string, Value] => [element, [...names].toSorted()])
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  )
}

function zip(keys: readonly string[], values: readonly Value[]): FunctionResult {
  if (keys.length !== values.length)
    return failArgument(
      1,
      `values must be as many as keys, but there are ${keys.length} keys and ${values.length} values`,
    )
  return ok(makeObject(keys.map((key, index): [string, Value] => [key, values[index] ?? null])))
}

/** Converts all values to their common type; undefined if there is none. */
function unifyValues(values: readonly Value[]): readonly Value[] | undefined {
  const type = unifyAll(values.map(typeOf))
  if (type === undefined) return undefined
  const converted: Value[] = []
  for (const value of values) {
    const one = convert(value, type)
    if (!one.ok) return undefined
    converted.push(one.value)
  }
  return converted
}
