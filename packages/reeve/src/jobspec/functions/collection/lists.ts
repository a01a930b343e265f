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
  type Meter,
  type Value,
} from '@reeve/hcl'
import { any, evenList, list, listAs, listOrNull, some, texts, whole } from '../argument.ts'
import { countCharacters } from '../text/character.ts'
import { define, defineRest, pay, refuse, refuseArgument, type Outcome } from '../define.ts'
import { toJsonText } from '../encoding/json-text.ts'
import { convertAlike } from './same-type.ts'

export const listFunctions: Readonly<Record<string, FunctionDefinition>> = {
  alltrue: define([listAs('list', BOOL)], ([values]) => ok(values.every((one) => one === true))),
  anytrue: define([listAs('list', BOOL)], ([values]) => ok(values.some((one) => one === true))),
  chunklist: define([evenList('list'), whole('size', { min: 0 })], ([values, size]) =>
    ok(toChunks(values, size)),
  ),
  coalesce: defineRest({ parameters: [], rest: any('vals'), countMin: 1 }, (_, values) =>
    coalesce(values),
  ),
  coalescelist: defineRest(
    { parameters: [], rest: listOrNull('vals'), countMin: 1 },
    (_, lists) => {
      const found = lists.find((one) => one !== null && one.length > 0)
      return found === undefined || found === null
        ? refuse('all lists are empty or null')
        : ok(found)
    },
  ),
  compact: define([listAs('list', STRING)], ([values]) =>
    ok(values.filter((one) => one !== null && one !== '')),
  ),
  concat: defineRest({ parameters: [], rest: list('seqs'), countMin: 1 }, (_, lists) =>
    ok(lists.flat()),
  ),
  contains: define([list('list'), any('value')], ([values, value]) =>
    ok(values.some((one) => sameValue(one, value))),
  ),
  distinct: define([evenList('list')], ([values]) => ok(toDistinct(values))),
  element: define([list('list'), whole('index')], ([values, index]) => {
    const { length } = values
    if (length === 0) return refuseArgument(0, 'list must not be empty')
    return ok(values[((index % length) + length) % length] ?? null)
  }),
  flatten: define([list('list')], ([values]) => ok(flatten(values))),
  index: define([some('collection'), some('key')], ([collection, key]) => indexOf(collection, key)),
  length: define([some('value')], ([value], meter) => lengthOf(value, meter)),
  matchkeys: define(
    [list('values'), evenList('keys'), evenList('searchset')],
    ([values, keys, searchset]) => matchKeys(values, keys, searchset),
  ),
  one: define([listOrNull('list')], ([values]) => {
    if (values === null || values.length === 0) return ok(null)
    if (values.length === 1) return ok(values[0] ?? null)
    return refuseArgument(0, `list must have at most one element, but it has ${values.length}`)
  }),
  reverse: define([list('list')], ([values]) => ok(values.toReversed())),
  slice: define(
    [list('list'), whole('start_index', { min: 0 }), whole('end_index', { min: 0 })],
    ([values, start, end]) => slice(values, start, end),
  ),
  sort: define([texts('list')], ([values], meter) => {
    const paid = pay(meter, values.length * Math.log2(values.length + 1))
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
function coalesce(values: readonly Value[]): Outcome {
  const alike = convertAlike(values)
  if (alike === undefined) return refuse('all arguments must have the same type')
  const found = alike.find((one) => one !== null)
  return found === undefined ? refuse('all arguments are null') : ok(found)
}

/** Compares by JSON text, so that long lists need no pairwise comparison. */
function toDistinct(values: readonly Value[]): readonly Value[] {
  const byText = new Map<string, Value>()
  for (const one of values) {
    const key = toJsonText(one)
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
function indexOf(collection: Value, key: Value): Outcome {
  if (isObject(collection)) {
    const found = getAttribute(collection, toText(key) ?? '')
    return found === undefined
      ? refuseArgument(1, `collection has no key ${describeKey(key)}`)
      : ok(found)
  }
  if (!isList(collection)) return refuseArgument(0, 'collection must be a list, a map or an object')
  if (isNumber(key)) {
    const found = collection[Number(key)]
    return found === undefined
      ? refuseArgument(1, `key must be a whole number from 0 to ${collection.length - 1}`)
      : ok(found)
  }
  const index = collection.findIndex((one) => sameValue(one, key))
  return index >= 0
    ? ok(index)
    : refuseArgument(1, `collection does not contain ${describeKey(key)}`)
}

function describeKey(key: Value): string {
  const text = toText(key)
  return text === undefined ? `such a ${describeValue(key)}` : quoteText(text)
}

function lengthOf(value: Value, meter: Meter): Outcome {
  if (isList(value)) return ok(value.length)
  if (isObject(value)) return ok(Object.keys(value).length)
  if (typeof value !== 'string')
    return refuseArgument(0, 'value must be a list, a map, an object or a string')
  const paid = pay(meter, value.length)
  return paid.ok ? ok(countCharacters(value)) : paid
}

function matchKeys(
  values: readonly Value[],
  keys: readonly Value[],
  searchset: readonly Value[],
): Outcome {
  if (values.length !== keys.length)
    return refuseArgument(
      1,
      `keys must be as many as values, but there are ${keys.length} keys and ${values.length} values`,
    )
  const alike = convertAlike([...keys, ...searchset])
  if (alike === undefined) return refuseArgument(2, 'searchset must have the type of keys')
  const wanted = new Set(alike.slice(keys.length).map(toJsonText))
  return ok(values.filter((_, index) => wanted.has(toJsonText(alike[index] ?? null))))
}

function slice(values: readonly Value[], start: number, end: number): Outcome {
  if (end > values.length)
    return refuseArgument(2, `end_index must be at most ${values.length}, the length of the list`)
  if (start > end) return refuseArgument(1, 'start_index must not be greater than end_index')
  return ok(values.slice(start, end))
}
