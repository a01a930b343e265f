import { ok } from '@reeve/kit/result.ts'
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
} from '../argument.ts'
import { countGraphemes } from '../text/character.ts'
import {
  define,
  defineVariadic,
  chargeSteps,
  fail,
  failArgument,
  type FunctionResult,
} from '../define.ts'
import { toJsonString } from '../encoding/json-text.ts'
import { unifyValues } from './same-type.ts'

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
  const text = toText(key)
  return text === undefined ? `such a ${describeValue(key)}` : quoteText(text)
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
