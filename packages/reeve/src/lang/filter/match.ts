import { compileRegex, type Regex } from '@reeve/kit/regex.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  selectorText,
  type Match,
  type ValueMatch,
  evaluationError,
  type FilterError,
} from './ast.ts'
import { isRecord, type FieldType } from './field-type.ts'
import {
  CHARACTERS_PER_STEP,
  MAX_PATTERN_INSTRUCTIONS,
  MAX_PATTERN_SIZE,
  MAX_STEPS_PER_ROW,
  MAX_TEXT_LENGTH,
  PATTERN_STATES_PER_STEP,
} from './limits.ts'
import { quote } from './quote.ts'
import { typeName, type Run } from './select.ts'

/** The result of an expression for a row. */
export type MatchResult = boolean | FilterError

/** Evaluates a match without its `not` on the selected value. */
type Test = (value: unknown, run: Run) => MatchResult

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

/**
 * The value in a match. It is a string; each conversion is computed once when the filter is
 * compiled.
 */
interface Literal {
  readonly text: string
  readonly integer: Result<number, ConversionError>
  readonly float: Result<number, ConversionError>
  readonly boolean: Result<boolean, ConversionError>
}

/** Why the string cannot be converted to the type of the selected value. */
type ConversionError = string

function readLiteral(text: string): Literal {
  return { text, integer: readInteger(text), float: readFloat(text), boolean: readBoolean(text) }
}

// Base prefixes and underscores between digits, as in Go's `strconv.ParseInt` with base 0.
const INTEGER =
  /^([+-]?)(0[xX](?:_?[0-9a-fA-F])+|0[bB](?:_?[01])+|0[oO]?(?:_?[0-7])+|0|[1-9](?:_?[0-9])*)$/
const INTEGER_LIMIT = 2n ** 63n

function readInteger(text: string): Result<number, ConversionError> {
  const match = INTEGER.exec(text)
  if (match === null) return err(conversionError('ParseInt', text, 'invalid syntax'))
  const [, sign, written = ''] = match
  const digits = written.replaceAll('_', '').replace(/^0(?=[0-7])/, '0o')
  const value = sign === '-' ? -BigInt(digits) : BigInt(digits)
  if (value >= INTEGER_LIMIT || value < -INTEGER_LIMIT)
    return err(conversionError('ParseInt', text, 'value out of range'))
  // Rows hold JavaScript numbers, so beyond 2^53 both sides round to the same neighbour.
  return ok(Number(value))
}

const FLOAT = /^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/
const INFINITE = /^([+-]?)inf(?:inity)?$/i

function readFloat(text: string): Result<number, ConversionError> {
  const infinite = INFINITE.exec(text)
  if (infinite !== null) return ok(infinite[1] === '-' ? -Infinity : Infinity)
  if (/^nan$/i.test(text)) return ok(NaN)
  if (!FLOAT.test(text)) return err(conversionError('ParseFloat', text, 'invalid syntax'))
  const value = Number(text)
  if (!Number.isFinite(value)) return err(conversionError('ParseFloat', text, 'value out of range'))
  return ok(value)
}

const TRUE_TEXTS: ReadonlySet<string> = new Set(['1', 't', 'T', 'TRUE', 'true', 'True'])
const FALSE_TEXTS: ReadonlySet<string> = new Set(['0', 'f', 'F', 'FALSE', 'false', 'False'])

function readBoolean(text: string): Result<boolean, ConversionError> {
  if (TRUE_TEXTS.has(text)) return ok(true)
  if (FALSE_TEXTS.has(text)) return ok(false)
  return err(conversionError('ParseBool', text, 'invalid syntax'))
}

function conversionError(reading: string, text: string, why: string): ConversionError {
  return `strconv.${reading}: parsing ${quote(text)}: ${why}`
}

/** A compiled regular expression, or the error for rows compared with it. */
export type Pattern = Result<Regex, FilterError>

/**
 * Compiles the patterns of one filter, which share a size limit. Matching takes linear time: no
 * look-around.
 */
export function patternCompiler(): (text: string) => Pattern {
  let left = MAX_PATTERN_INSTRUCTIONS
  return (text) => {
    // After the limit is reached, patterns are rejected without compiling them: a short pattern may
    // expand to a large program.
    const pattern = left < 0 ? TOO_LARGE : compile(text)
    if (!pattern.ok) return pattern
    left -= pattern.value.instructions
    return left < 0 ? TOO_LARGE : pattern
  }
}

const TOO_LARGE = err(
  evaluationError(
    `the regular expressions of the filter have more than ${MAX_PATTERN_INSTRUCTIONS} instructions`,
  ),
)

function compile(text: string): Pattern {
  const compiled = compileRegex(text, PATTERN_LIMITS)
  if (compiled.ok) return compiled
  const { kind, message } = compiled.error
  if (kind === 'too-large') return TOO_LARGE
  return err(evaluationError(`failed to compile regular expression ${quote(text)}: ${message}`))
}

const PATTERN_LIMITS = {
  lengthMax: MAX_TEXT_LENGTH,
  sizeMax: MAX_PATTERN_SIZE,
  instructionsMax: MAX_PATTERN_INSTRUCTIONS,
}
