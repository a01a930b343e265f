import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  isNumber,
  toBool,
  toNumber,
  toRational,
  toText,
  type NumberValue,
  type Value,
} from '@reeve/hcl'
import { takeGraphemes } from './character.ts'
import {
  formatDigits,
  formatExponent,
  formatShortest,
  type Decimal,
} from '@reeve/kit/format-decimal.ts'
import { toJsonString } from '../encoding/json-text.ts'

/** A verb of a format string. */
export interface FormatVerb {
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
export function formatValue(verb: FormatVerb, value: Value): Result<string, string> {
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
  const text = toText(value)
  if (text === undefined) return err('needs a string')
  const { precision = 0 } = verb
  const cut = precision > 0 ? takeGraphemes(text, precision).join('') : text
  return ok(pad(verb, verb.mode === 'q' ? toJsonString(cut) : cut))
}

const RADIX: Readonly<Record<string, number>> = { b: 2, o: 8, x: 16, X: 16 }
const PREFIX: Readonly<Record<string, string>> = { b: '0b', o: '0', x: '0x', X: '0X' }

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
function pad(verb: FormatVerb, text: string): string {
  if (verb.width === 0) return text
  const missing = verb.width - takeGraphemes(text, verb.width).length
  if (missing <= 0) return text
  if (verb.isLeftAligned) return text + ' '.repeat(missing)
  return (verb.hasZeros ? '0' : ' ').repeat(missing) + text
}
