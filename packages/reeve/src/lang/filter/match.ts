import type { Result } from '@reeve/kit/result.ts'
import { selectorText, type Match, type ValueMatch } from './ast.ts'
import { isRecord, type FieldType } from './field-kinds.ts'
import { evaluationError, type FilterError } from './filter-error.ts'
import { CHARACTERS_PER_STEP, MAX_STEPS_PER_ROW, PATTERN_STATES_PER_STEP } from './limits.ts'
import { readLiteral, type Literal, type ConversionError } from './literal.ts'
import type { Pattern } from './pattern.ts'
import { quote } from './quote.ts'
import { typeName, type Run } from './select.ts'

/** The result of an expression for a row. */
export type MatchResult = boolean | FilterError

/** Evaluates a match without its `not` on the selected value. */
export type Test = (value: unknown, run: Run) => MatchResult

export function compileTest(
  match: Match,
  type: FieldType,
  patternOf: (text: string) => Pattern,
): Test {
  switch (match.operator) {
    case 'equal':
      return equals(readLiteral(match.value), type)
    case 'in':
      return contains(match, type)
    case 'matches':
      return matches(patternOf(match.value), type)
    case 'empty':
      return isEmpty(match, type)
    case 'nil':
      return isNil(match, type)
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
export function isAbsentCollection(value: unknown, type: FieldType): boolean {
  return value === null && (type.kind === 'list' || type.kind === 'map')
}

/** Also true for null byte arrays, although the filter does not see their elements. */
function isEmptyValue(value: unknown, type: FieldType): boolean {
  return isAbsentCollection(value, type) || (value === null && type.kind === 'bytes')
}

/** Records look like maps in JSON; only the declared type distinguishes them. */
export function isMap(value: unknown, type: FieldType): value is Readonly<Record<string, unknown>> {
  return (type.kind === 'map' || type.kind === 'json') && isRecord(value)
}

const INCOMPARABLE = evaluationError(
  'unable to find suitable primitive comparison function for matching',
)

function equals(literal: Literal, type: FieldType): (value: unknown) => MatchResult {
  // A time is a record without accessible fields:
  const isTime = type.kind === 'time'
  return (value) => {
    switch (typeof value) {
      case 'string':
        return isTime ? INCOMPARABLE : value === literal.text
      case 'number':
      case 'bigint':
        return equalsNumber(Number(value), literal, type)
      case 'boolean':
        return compare(value, literal.boolean)
      default:
        return INCOMPARABLE
    }
  }
}

function equalsNumber(value: number, literal: Literal, type: FieldType): MatchResult {
  if (type.kind === 'integer') return compare(value, literal.integer)
  if (type.kind === 'float') return compare(value, literal.float)
  // Undeclared numbers have one type in JSON, so either interpretation of the literal matches.
  const isReadable = literal.integer.ok || (Number.isInteger(value) && !literal.float.ok)
  return compare(value, isReadable ? literal.integer : literal.float)
}

function compare<T>(value: T, literal: Result<T, ConversionError>): MatchResult {
  if (literal.ok) return value === literal.value
  return evaluationError(`error getting match value in expression: ${literal.error}`)
}

/** Substring of a string, element of a list, or key of a map. */
function contains(match: ValueMatch, type: FieldType): Test {
  const text = match.value
  const containsElement = elementTest(text, type)
  const refuse = unsupportedOperation('in/contains', match, type)
  return (value, run) => {
    if (typeof value === 'string' && type.kind !== 'time') {
      run.steps -= Math.floor(value.length / CHARACTERS_PER_STEP)
      return value.includes(text)
    }
    if (Array.isArray(value)) {
      run.steps -= value.length
      return containsElement(value)
    }
    if (isMap(value, type)) return Object.hasOwn(value, text)
    return isEmptyValue(value, type) ? false : refuse(value)
  }
}

const INCOMPARABLE_ELEMENT = evaluationError(
  'unable to find suitable primitive comparison function for "in" comparison',
)

/**
 * Elements of one declared type must all be comparable with the literal. Where types are mixed or
 * unknown, an element that the literal cannot be converted to is not equal to it.
 */
function elementTest(text: string, type: FieldType): (list: readonly unknown[]) => MatchResult {
  const items = type.kind === 'list' ? type.of : type
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

function matches(pattern: Pattern, type: FieldType): Test {
  return (value, run) => {
    if (typeof value !== 'string' || type.kind === 'time')
      return evaluationError(`value of type ${typeName(value, type)} is not convertible to []byte`)
    if (!pattern.ok) return pattern.error
    const { regex, instructions } = pattern.value
    run.steps -= Math.floor((value.length * instructions) / PATTERN_STATES_PER_STEP)
    // Checked before the search: one long string could cost more than the whole budget.
    return run.steps < 0 ? STEP_LIMIT_EXCEEDED : regex.test(value)
  }
}

/** The row exceeds the step limit. */
export const STEP_LIMIT_EXCEEDED = evaluationError(
  `the filter takes more than ${MAX_STEPS_PER_ROW} steps on one object`,
)

function isEmpty(match: Match, type: FieldType): Test {
  const refuse = unsupportedOperation('is empty', match, type)
  return (value) => {
    if (typeof value === 'string' && type.kind !== 'time') return value === ''
    if (Array.isArray(value)) return value.length === 0
    if (isMap(value, type)) return Object.keys(value).length === 0
    return isEmptyValue(value, type) ? true : refuse(value)
  }
}

/** Only nullable values can be compared with nil; for plain scalars it is an error. */
function isNil(match: Match, type: FieldType): Test {
  const refuse = unsupportedOperation('is nil', match, type)
  return (value) => {
    if (value === null) return true
    const isNoScalar = typeof value === 'object' || type.kind === 'time' || type.kind === 'bytes'
    return isNoScalar || type.nullable ? false : refuse(value)
  }
}

function unsupportedOperation(
  operation: string,
  match: Match,
  kinds: FieldType,
): (value: unknown) => FilterError {
  const selector = quote(selectorText(match.selector))
  return (value) => {
    const type = typeName(value, kinds)
    return evaluationError(
      `cannot perform ${operation} operations on type ${type} for selector: ${selector}`,
    )
  }
}
