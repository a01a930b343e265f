import { ok } from '@reeve/kit/result.ts'
import {
  getAttribute,
  makeObject,
  quoteText,
  sortedEntries,
  type FunctionDefinition,
  type Value,
} from '@reeve/hcl'
import { any, list, object, objectOrNull, text, strings, stringListsByName } from '../argument.ts'
import { define, defineVariadic, failArgument, type FunctionResult } from '../define.ts'

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
