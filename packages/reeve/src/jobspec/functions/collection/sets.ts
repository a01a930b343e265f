import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  ANY,
  convert,
  setOf,
  type FunctionDefinition,
  type FunctionError,
  type StepBudget,
  type Value,
} from '@reeve/hcl'
import { homogeneousList } from '../argument.ts'
import { define, defineVariadic, chargeSteps, type FunctionResult } from '../define.ts'
import { toJsonString } from '../encoding/json-text.ts'
import { unifyValues } from './same-type.ts'

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
  for (const list of lists.toReversed()) {
    reversed.push(list[rest % list.length] ?? null)
    rest = Math.floor(rest / list.length)
  }
  return reversed.toReversed()
}
