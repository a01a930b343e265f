import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  CHARACTERS_PER_STEP,
  isList,
  quoteText,
  type FunctionDefinition,
  type FunctionError,
  type StepBudget,
  type Value,
  isNumber,
  toBool,
  toNumber,
  toRational,
  toText,
  type NumberValue,
} from '@reeve/hcl'
import {
  formatDigits,
  formatExponent,
  formatShortest,
  type Decimal,
} from '@reeve/kit/format-decimal.ts'
import { any, text } from './argument.ts'
import { defineVariadic, chargeSteps, fail, failArgument, type FunctionResult } from './define.ts'
import { toJsonString } from './encoding.ts'
import { FORMAT_WIDTH_MAX } from './limits.ts'
import { takeGraphemes } from './text/character.ts'

const RADIX: Readonly<Record<string, number>> = { b: 2, o: 8, x: 16, X: 16 }
const PREFIX: Readonly<Record<string, string>> = { b: '0b', o: '0', x: '0x', X: '0X' }

export const formatFunctions: Readonly<Record<string, FunctionDefinition>> = {
  format: defineVariadic(
    { parameters: [text('format')], rest: any('args') },
    ([format], args, meter) => formatText(format, args, meter),
  ),
  formatlist: defineVariadic(
    { parameters: [text('format')], rest: any('args') },
    ([format], args, meter) => formatList(format, args, meter),
  ),
}

/** Lists must be equally long and supply one element per result; other arguments are repeated. */
function formatList(format: string, args: readonly Value[], meter: StepBudget): FunctionResult {
  const longest = args.find(isList)
  const roundCount = longest?.length ?? 1
  for (const [index, one] of args.entries())
    if (isList(one) && one.length !== roundCount)
      return failArgument(
        index + 1,
        `all lists must have the same length, but this one has ${one.length} elements and the first ${roundCount}`,
      )
  const results: string[] = []
  for (let round = 0; round < roundCount; round++) {
    const values = args.map((one) => (isList(one) ? (one[round] ?? null) : one))
    const result = formatText(format, values, meter)
    if (!result.ok) return fail(`in round ${round}: ${result.error.message}`)
    results.push(result.value)
  }
  return ok(results)
}

/** `%`, flags, `[1]`, width, precision, `[1]` again, letter. */
const VERB =
  /%([0#\-+ ]*)(?:\[([1-9][0-9]*)\])?([1-9][0-9]*)?(?:\.([0-9]*))?(?:\[([1-9][0-9]*)\])?([a-zA-Z])/y

function formatText(
  format: string,
  args: readonly Value[],
  meter: StepBudget,
): Result<string, FunctionError> {
  const pieces: string[] = []
  let length = 0
  let nextIndex = 0
  let usedCount = 0
  for (let at = 0; at < format.length;) {
    const piece = takePiece(format, at, { args, nextIndex })
    if (!piece.ok) return err({ message: piece.error, argument: 0 })
    const { text: produced, end, measured, nextIndex: next } = piece.value
    nextIndex = next
    usedCount = Math.max(usedCount, next)
    at = end
    length += produced.length
    if (length > meter.limits.stringLengthMax)
      return fail(`the result would be longer than ${meter.limits.stringLengthMax} characters`)
    const paid = chargeSteps(meter, 1 + measured + produced.length / CHARACTERS_PER_STEP)
    if (!paid.ok) return paid
    pieces.push(produced)
  }
  if (usedCount < args.length)
    return failArgument(
      usedCount + 1,
      `there are ${args.length} value(s) to format, but the format uses only ${usedCount}`,
    )
  return ok(pieces.join(''))
}

interface Piece {
  readonly text: string
  readonly end: number
  /** Number of characters that were split into graphemes. */
  readonly measured: number
  /** 0-based index of the next verb's argument. */
  readonly nextIndex: number
}

/** Returns the literal text up to the next verb, or the formatted verb. */
function takePiece(
  format: string,
  at: number,
  { args, nextIndex }: { readonly args: readonly Value[]; readonly nextIndex: number },
): Result<Piece, string> {
  if (format[at] !== '%') {
    const end = format.indexOf('%', at)
    return ok({
      text: format.slice(at, end < 0 ? undefined : end),
      end: end < 0 ? format.length : end,
      measured: 0,
      nextIndex,
    })
  }
  if (format[at + 1] === '%') return ok({ text: '%', end: at + 2, measured: 0, nextIndex })
  VERB.lastIndex = at
  const match = VERB.exec(format)
  if (match === null)
    return err(`at offset ${at} it has a "%" without a valid verb; write "%%" for a percent sign`)
  const verb = readVerb(match)
  if (verb.width > FORMAT_WIDTH_MAX || (verb.precision ?? 0) > FORMAT_WIDTH_MAX)
    return err(`width and precision of ${quoteText(match[0])} may be at most ${FORMAT_WIDTH_MAX}`)
  const indexText = match[2] ?? match[5]
  const index = indexText === undefined ? nextIndex : Number(indexText) - 1
  const value = args[index]
  if (value === undefined)
    return err(`${quoteText(match[0])} needs value ${index + 1}, but there are ${args.length}`)
  const formatted = formatValue(verb, value)
  if (!formatted.ok) return err(`${quoteText(match[0])} ${formatted.error}`)
  const measured = verb.width + (verb.precision ?? 0)
  return ok({ text: formatted.value, end: VERB.lastIndex, measured, nextIndex: index + 1 })
}

function readVerb(match: RegExpExecArray): FormatVerb {
  const [, flags = '', , width = '0', precision, , mode = ''] = match
  return {
    mode,
    isAlternate: flags.includes('#'),
    isLeftAligned: flags.includes('-'),
    hasPlus: flags.includes('+'),
    hasSpace: flags.includes(' '),
    hasZeros: flags.includes('0'),
    width: Number(width),
    // A period without digits means precision zero.
    ...(precision === undefined ? {} : { precision: Number(precision) }),
  }
}

/** A verb of a format string. */
interface FormatVerb {
  /** The letter. */
  readonly mode: string
  readonly isAlternate: boolean
  readonly isLeftAligned: boolean
  readonly hasPlus: boolean
  readonly hasSpace: boolean
  readonly hasZeros: boolean
  readonly width: number
  readonly precision?: number
}

/** Formats a value. An error continues after the verb: `needs a number`. */
function formatValue(verb: FormatVerb, value: Value): Result<string, string> {
  if (verb.mode === 'v') return ok(pad(verb, formatDefault(verb, value)))
  if (value === null) return err('cannot format null; only %v and %#v can')
  switch (verb.mode) {
    case 't': {
      const bool = toBool(value)
      return bool === undefined ? err('needs a bool') : ok(pad(verb, String(bool)))
    }
    case 's':
    case 'q':
      return formatString(verb, value)
    case 'b':
    case 'd':
    case 'o':
    case 'x':
    case 'X':
      return formatInteger(verb, value)
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
      return formatFloat(verb, value)
    default:
      return err('is not known; verbs are %v %#v %t %b %d %o %x %X %e %E %f %g %G %s %q')
  }
}

function formatDefault(verb: FormatVerb, value: Value): string {
  if (!verb.isAlternate && typeof value === 'string') return value
  if (!verb.isAlternate && isNumber(value)) return formatShortest(decimalOf(value), 'e')
  return toJsonString(value)
}

function formatString(verb: FormatVerb, value: Value): Result<string, string> {
  const string = toText(value)
  if (string === undefined) return err('needs a string')
  const { precision = 0 } = verb
  const cut = precision > 0 ? takeGraphemes(string, precision).join('') : string
  return ok(pad(verb, verb.mode === 'q' ? toJsonString(cut) : cut))
}

function formatInteger(verb: FormatVerb, value: Value): Result<string, string> {
  const number = toNumber(value)
  if (number === undefined || (typeof number === 'number' && !Number.isInteger(number)))
    return err('needs a whole number')
  const whole = BigInt(number)
  const magnitude = (whole < 0n ? -whole : whole).toString(RADIX[verb.mode] ?? 10)
  const written = verb.mode === 'X' ? magnitude.toUpperCase() : magnitude
  const digits = written.padStart(verb.precision ?? 0, '0')
  const prefix = verb.isAlternate ? (PREFIX[verb.mode] ?? '') : ''
  // As in C, a precision disables zero padding.
  const hasZeros = verb.hasZeros && verb.precision === undefined
  return ok(padNumber({ ...verb, hasZeros }, signOf(verb, whole < 0n) + prefix, digits))
}

function formatFloat(verb: FormatVerb, value: Value): Result<string, string> {
  const number = toNumber(value)
  if (number === undefined) return err('needs a number')
  const decimal = decimalOf(number)
  const sign = signOf(verb, number < 0)
  return ok(padNumber(verb, sign, floatDigits(verb, decimal)))
}

function floatDigits(verb: FormatVerb, decimal: Decimal): string {
  const { mode, precision } = verb
  if (mode === 'f' || mode === 'F') return formatDigits(decimal, precision ?? 6)
  if (mode === 'e' || mode === 'E') return formatExponent(decimal, precision ?? 6, mode)
  const letter = mode === 'g' ? 'e' : 'E'
  return formatShortest({ ...decimal, isNegative: false }, letter, precision)
}

function decimalOf(value: NumberValue): Decimal {
  const { numerator, denominator } = toRational(value)
  // The denominator is a power of ten, because a double is represented by its shortest decimal.
  const scale = denominator.toString().length - 1
  const isNegative = numerator < 0n
  return { isNegative, digits: isNegative ? -numerator : numerator, scale }
}

function signOf(verb: FormatVerb, isNegative: boolean): string {
  if (isNegative) return '-'
  return verb.hasPlus ? '+' : verb.hasSpace ? ' ' : ''
}

/** Zeros go between the sign and the digits. */
function padNumber(verb: FormatVerb, sign: string, digits: string): string {
  if (verb.isLeftAligned || !verb.hasZeros) return pad({ ...verb, hasZeros: false }, sign + digits)
  return sign + digits.padStart(verb.width - sign.length, '0')
}

/** The width counts graphemes. */
function pad(verb: FormatVerb, content: string): string {
  if (verb.width === 0) return content
  const missing = verb.width - takeGraphemes(content, verb.width).length
  if (missing <= 0) return content
  if (verb.isLeftAligned) return content + ' '.repeat(missing)
  return (verb.hasZeros ? '0' : ' ').repeat(missing) + content
}
