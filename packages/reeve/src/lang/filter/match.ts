import type { Result } from '@reeve/kit/result.ts'
import { selectorText, type Match, type ValueMatch } from './ast.ts'
import { isRecord, type FieldKinds } from './field-kinds.ts'
import { failed, type FilterError } from './filter-error.ts'
import { CHARACTERS_PER_STEP, MAX_STEPS_PER_ROW, PATTERN_STATES_PER_STEP } from './limits.ts'
import { readLiteral, type Literal, type Unreadable } from './literal.ts'
import type { Pattern } from './pattern.ts'
import { quote } from './quote.ts'
import { typeName, type Run } from './select.ts'

/** The result of an expression for a row. */
export type Verdict = boolean | FilterError

/** Evaluates a match without its `not` on the selected value. */
export type Test = (value: unknown, run: Run) => Verdict

export function testOf(
  match: Match,
  kinds: FieldKinds,
  patternOf: (text: string) => Pattern,
): Test {
  switch (match.operator) {
    case 'equal':
      return equals(readLiteral(match.value), kinds)
    case 'in':
      return contains(match, kinds)
    case 'matches':
      return matches(patternOf(match.value), kinds)
    case 'empty':
      return isEmpty(match, kinds)
    case 'nil':
      return isNil(match, kinds)
  }
}

/**
 * The result of a match without its `not` if a map lacks the selected key: the missing value is
 * empty and nil.
 */
export function verdictWhenMissing(match: Match): boolean {
  return match.operator === 'empty' || match.operator === 'nil'
}

/** A null list or map is empty; null of any other type is not. */
export function isAbsentCollection(value: unknown, kinds: FieldKinds): boolean {
  return value === null && (kinds.kind === 'list' || kinds.kind === 'map')
}

/** Also true for null byte arrays, although the filter does not see their elements. */
function holdsNothing(value: unknown, kinds: FieldKinds): boolean {
  return isAbsentCollection(value, kinds) || (value === null && kinds.kind === 'bytes')
}

/** Records look like maps in JSON; only the declared type distinguishes them. */
export function isMap(
  value: unknown,
  kinds: FieldKinds,
): value is Readonly<Record<string, unknown>> {
  return (kinds.kind === 'map' || kinds.kind === 'json') && isRecord(value)
}

const INCOMPARABLE = failed('unable to find suitable primitive comparison function for matching')

function equals(literal: Literal, kinds: FieldKinds): (value: unknown) => Verdict {
  // A time is a record without accessible fields:
  const isTime = kinds.kind === 'time'
  return (value) => {
    switch (typeof value) {
      case 'string':
        return isTime ? INCOMPARABLE : value === literal.text
      case 'number':
      case 'bigint':
        return equalsNumber(Number(value), literal, kinds)
      case 'boolean':
        return compare(value, literal.boolean)
      default:
        return INCOMPARABLE
    }
  }
}

function equalsNumber(value: number, literal: Literal, kinds: FieldKinds): Verdict {
  if (kinds.kind === 'integer') return compare(value, literal.integer)
  if (kinds.kind === 'float') return compare(value, literal.float)
  // Undeclared numbers have one type in JSON, so either interpretation of the literal matches.
  const isReadable = literal.integer.ok || (Number.isInteger(value) && !literal.float.ok)
  return compare(value, isReadable ? literal.integer : literal.float)
}

function compare<T>(value: T, literal: Result<T, Unreadable>): Verdict {
  if (literal.ok) return value === literal.value
  return failed(`error getting match value in expression: ${literal.error}`)
}

/** Substring of a string, element of a list, or key of a map. */
function contains(match: ValueMatch, kinds: FieldKinds): Test {
  const text = match.value
  const containsElement = elementTest(text, kinds)
  const refuse = unsuited('in/contains', match, kinds)
  return (value, run) => {
    if (typeof value === 'string' && kinds.kind !== 'time') {
      run.steps -= Math.floor(value.length / CHARACTERS_PER_STEP)
      return value.includes(text)
    }
    if (Array.isArray(value)) {
      run.steps -= value.length
      return containsElement(value)
    }
    if (isMap(value, kinds)) return Object.hasOwn(value, text)
    return holdsNothing(value, kinds) ? false : refuse(value)
  }
}

const INCOMPARABLE_ELEMENT = failed(
  'unable to find suitable primitive comparison function for "in" comparison',
)

/**
 * Elements of one declared type must all be comparable with the literal. Where types are mixed or
 * unknown, an element that the literal cannot be converted to is not equal to it.
 */
function elementTest(text: string, kinds: FieldKinds): (list: readonly unknown[]) => Verdict {
  const items = kinds.kind === 'list' ? kinds.of : kinds
  const isMixed = items.kind === 'json' || items.kind === 'untyped'
  const isEqual = equals(readLiteral(text), items)
  return (list) => {
    for (const element of list) {
      const verdict = isEqual(element)
      if (verdict === true) return true
      if (verdict !== false && !isMixed)
        return verdict === INCOMPARABLE ? INCOMPARABLE_ELEMENT : verdict
    }
    return false
  }
}

function matches(pattern: Pattern, kinds: FieldKinds): Test {
  return (value, run) => {
    if (typeof value !== 'string' || kinds.kind === 'time')
      return failed(`value of type ${typeName(value, kinds)} is not convertible to []byte`)
    if (!pattern.ok) return pattern.error
    const { regex, instructions } = pattern.value
    run.steps -= Math.floor((value.length * instructions) / PATTERN_STATES_PER_STEP)
    // Checked before the search: one long string could cost more than the whole budget.
    return run.steps < 0 ? TOO_MUCH_WORK : regex.test(value)
  }
}

/** The row exceeds the step limit. */
export const TOO_MUCH_WORK = failed(
  `the filter takes more than ${MAX_STEPS_PER_ROW} steps on one object`,
)

function isEmpty(match: Match, kinds: FieldKinds): Test {
  const refuse = unsuited('is empty', match, kinds)
  return (value) => {
    if (typeof value === 'string' && kinds.kind !== 'time') return value === ''
    if (Array.isArray(value)) return value.length === 0
    if (isMap(value, kinds)) return Object.keys(value).length === 0
    return holdsNothing(value, kinds) ? true : refuse(value)
  }
}

/** Only nullable values can be compared with nil; for plain scalars it is an error. */
function isNil(match: Match, kinds: FieldKinds): Test {
  const refuse = unsuited('is nil', match, kinds)
  return (value) => {
    if (value === null) return true
    const isNoScalar = typeof value === 'object' || kinds.kind === 'time' || kinds.kind === 'bytes'
    return isNoScalar || kinds.nullable ? false : refuse(value)
  }
}

function unsuited(
  operation: string,
  match: Match,
  kinds: FieldKinds,
): (value: unknown) => FilterError {
  const selector = quote(selectorText(match.selector))
  return (value) => {
    const type = typeName(value, kinds)
    return failed(
      `cannot perform ${operation} operations on type ${type} for selector: ${selector}`,
    )
  }
}
