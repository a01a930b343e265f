import { VALUE_DEPTH_MAX } from '../limits.ts'
import { compareTexts } from './bytes.ts'
import { Float } from './int.ts'
import { isMap, isNumeric, isRule, ListValue, toNumber, Undefined, type Value } from './value.ts'

/** Charges for a comparison; aborts the evaluation when the budget is exhausted. */
export type Charge = (steps: number) => void

/**
 * Values of different types are not equal, except int and float. The result is undefined if a
 * compared part is undefined.
 */
export function areEqual(left: Value, right: Value, charge: Charge): boolean | Undefined {
  return compareDeep(left, right, { charge, depth: 0 })
}

interface Progress {
  readonly charge: Charge
  readonly depth: number
}

function compareDeep(left: Value, right: Value, progress: Progress): boolean | Undefined {
  if (left instanceof Undefined) return left
  if (right instanceof Undefined) return right
  if (left === right) return true
  if (isNumeric(left)) return isNumeric(right) && areNumbersEqual(left, right)
  if (left instanceof ListValue)
    return right instanceof ListValue && areListsEqual(left, right, progress)
  if (isMap(left)) return isMap(right) && areMapsEqual(left, right, progress)
  if (isRule(left) || isRule(right))
    return compareDeep(forced(left), forced(right), deeper(progress))
  return false
}

function forced(value: Value): Value {
  return isRule(value) ? value.force() : value
}

function areNumbersEqual(left: number | bigint | Float, right: number | bigint | Float): boolean {
  // JavaScript compares bigint and number exactly.
  const [a, b] = [unboxed(left), unboxed(right)]
  // eslint-disable-next-line eqeqeq -- `===` is always false between number and bigint
  return a == b
}

function unboxed(value: number | bigint | Float): number | bigint {
  return value instanceof Float ? value.value : value
}

function areListsEqual(left: ListValue, right: ListValue, progress: Progress): boolean | Undefined {
  if (left.items.length !== right.items.length) return false
  const inner = deeper(progress)
  progress.charge(left.items.length)
  for (const [index, item] of left.items.entries()) {
    const isSame = compareDeep(item, right.items[index] ?? null, inner)
    if (isSame !== true) return isSame
  }
  return true
}

function areMapsEqual(left: Value, right: Value, progress: Progress): boolean | Undefined {
  if (!isMap(left) || !isMap(right) || left.size !== right.size) return false
  const inner = deeper(progress)
  progress.charge(left.size)
  for (const key of left.keys()) {
    if (!right.has(key)) return false
    const isSame = compareDeep(left.get(key) ?? null, right.get(key) ?? null, inner)
    if (isSame !== true) return isSame
  }
  return true
}

function deeper({ charge, depth }: Progress): Progress {
  if (depth >= VALUE_DEPTH_MAX) charge(Number.POSITIVE_INFINITY)
  return { charge, depth: depth + 1 }
}

/** Compares two numbers or two strings; undefined for other types. */
export function compareOrdered(left: Value, right: Value): number | undefined {
  if (typeof left === 'string' && typeof right === 'string') return compareTexts(left, right)
  if (!isNumeric(left) || !isNumeric(right)) return undefined
  const [a, b] = [unboxed(left), unboxed(right)]
  if (a < b) return -1
  if (a > b) return 1
  return Number.isNaN(toNumber(left)) || Number.isNaN(toNumber(right)) ? undefined : 0
}
