import { CHARACTERS_PER_STEP, STRING_LENGTH_MAX } from '../limits.ts'
import { LimitExceeded } from '../value/fuel.ts'
import { toBigInt, type NumberValue } from '../value/number.ts'
import { isArray, type Kind, kindOf, type SetValue, type Value } from '../value/value.ts'
import type { CallContext } from './builtin.ts'

/** The members of an array or a set, a set's in order. */
export function membersOf(collection: readonly Value[] | SetValue): readonly Value[] {
  return isArray(collection) ? collection : collection.sorted()
}

export interface ElementProblem {
  readonly position: number
  readonly collection: Value
  readonly element: Value
  readonly wanted: Kind
}

/** `operand 1 must be array of numbers but got array containing string` */
export function elementTypeMismatch({
  position,
  collection,
  element,
  wanted,
}: ElementProblem): string {
  const kind = kindOf(collection)
  return `operand ${position} must be ${kind} of ${wanted}s but got ${kind} containing ${kindOf(element)}`
}

/**
 * Returns the strings of an array or a set. If an element is not a string, the call fails and the
 * result is undefined.
 */
export function textsOf(
  context: CallContext,
  collection: readonly Value[] | SetValue,
  position: number,
): readonly string[] | undefined {
  const texts: string[] = []
  const members = membersOf(collection)
  context.charge(members.length)
  for (const element of members) {
    if (typeof element !== 'string')
      return context.failType(
        elementTypeMismatch({ position, collection, element, wanted: 'string' }),
      )
    texts.push(element)
  }
  return texts
}

/** Returns an integer. If the value is not one, the call fails and the result is undefined. */
export function wholeOf(
  context: CallContext,
  value: NumberValue,
  position: number,
): bigint | undefined {
  return (
    toBigInt(value) ??
    context.failType(`operand ${position} must be integer number but got floating-point number`)
  )
}

/** A whole number a double holds exactly: a position, a length, a count. */
export function smallWholeOf(
  context: CallContext,
  value: NumberValue,
  position: number,
): number | undefined {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return value
  const whole = wholeOf(context, value, position)
  if (whole === undefined) return undefined
  // Beyond every length there is, so the nearest double does as well.
  return Number(whole)
}

/** Pays for reading or making so many characters, and refuses to make more than a text may have. */
export function chargeForString(context: CallContext, length: number): void {
  if (length > STRING_LENGTH_MAX) throw new LimitExceeded('a text is too long')
  context.charge(1 + Math.floor(length / CHARACTERS_PER_STEP))
}

/** The text, paid for. */
export function chargedString(context: CallContext, text: string): string {
  chargeForString(context, text.length)
  return text
}

/** Pays for the next piece of a text that is made in pieces; gives the length of all so far. */
export function addLength(context: CallContext, length: number, more: number): number {
  chargeForString(context, more)
  if (length + more > STRING_LENGTH_MAX) throw new LimitExceeded('a text is too long')
  return length + more
}
