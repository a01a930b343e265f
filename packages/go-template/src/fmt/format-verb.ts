import {
  formatDigits,
  formatExponent,
  formatShortest,
  type Decimal,
} from '@reeve/kit/format-decimal.ts'
import { encodeHex } from '@reeve/kit/bytes.ts'
import { encodeUtf8 } from '@reeve/kit/utf8.ts'
import { quote, quoteAscii } from './quote.ts'
import { formatBinaryFloat, formatHexFloat, fractionOfDouble } from './binary-float.ts'

export type Argument =
  | { readonly type: 'string'; readonly value: string }
  | { readonly type: 'int64' | 'big.Int'; readonly value: bigint }
  | { readonly type: 'float64'; readonly value: number }

export interface Flags {
  plus: boolean
  minus: boolean
  sharp: boolean
  space: boolean
  zero: boolean
  width?: number
  precision?: number
}

export function typeName({ type }: Argument): string {
  return type === 'big.Int' ? '*big.Int' : type
}

export function formatArgument(flags: Flags, verb: string, argument: Argument): string {
  if (verb === 'T') return pad(flags, typeName(argument))
  switch (argument.type) {
    case 'string':
      return formatText(flags, verb, argument.value)
    case 'float64':
      return formatFloat(flags, verb, argument.value)
    case 'int64':
      return formatInteger(flags, verb, argument.value)
    case 'big.Int':
      return 'bodxXOsv'.includes(verb)
        ? formatWhole(flags, verb === 's' || verb === 'v' ? 'd' : verb, argument.value)
        : `%!${verb}(big.Int=${argument.value})`
  }
}

function badVerb(flags: Flags, verb: string, argument: Argument): string {
  return `%!${verb}(${argument.type}=${formatArgument(flags, 'v', argument)})`
}

function formatText(flags: Flags, verb: string, value: string): string {
  const { precision } = flags
  const cut = precision === undefined ? value : Array.from(value).slice(0, precision).join('')
  switch (verb) {
    case 'v':
      return pad(flags, flags.sharp ? quote(value) : cut)
    case 's':
      return pad(flags, cut)
    case 'x':
    case 'X':
      return pad(flags, hexText(flags, verb, value))
    case 'q':
      if (flags.sharp && /^[^`\p{Cc}\ufeff]*$/u.test(cut)) return pad(flags, `\`${cut}\``)
      return pad(flags, flags.plus ? quoteAscii(cut) : quote(cut))
    default:
      return badVerb(flags, verb, { type: 'string', value })
  }
}

function hexText(flags: Flags, verb: string, value: string): string {
  const bytes = encodeUtf8(value)
  const digits = encodeHex(
    flags.precision === undefined ? bytes : bytes.subarray(0, flags.precision),
  )
  const prefix = flags.sharp && digits !== '' ? '0x' : ''
  const text = flags.space
    ? (digits.match(/../g) ?? []).map((pair) => prefix + pair).join(' ')
    : prefix + digits
  return verb === 'X' ? text.toUpperCase() : text
}

const CODE_POINT_MAX = 0x10ffffn

function formatInteger(flags: Flags, verb: string, value: bigint): string {
  switch (verb) {
    case 'v':
      return formatWhole(flags, 'd', value)
    case 'b':
    case 'd':
    case 'o':
    case 'O':
    case 'x':
    case 'X':
      return formatWhole(flags, verb, value)
    case 'c':
      return pad(flags, characterOf(value))
    case 'q':
      return pad(flags, quotedCharacter(flags, characterOf(value)))
    case 'U':
      return pad({ ...flags, zero: false }, unicodeText(flags, value))
    default:
      return badVerb(flags, verb, { type: 'int64', value })
  }
}

function characterOf(value: bigint): string {
  const isValid = value >= 0n && value <= CODE_POINT_MAX && (value < 0xd800n || value > 0xdfffn)
  return isValid ? String.fromCodePoint(Number(value)) : '\ufffd'
}

function quotedCharacter(flags: Flags, character: string): string {
  if (character === "'") return "'\\''"
  if (character === '"') return `'"'`
  return `'${(flags.plus ? quoteAscii(character) : quote(character)).slice(1, -1)}'`
}

function unicodeText(flags: Flags, value: bigint): string {
  const digits = value
    .toString(16)
    .toUpperCase()
    .padStart(Math.max(flags.precision ?? 4, 4), '0')
  return flags.sharp ? `U+${digits} '${characterOf(value)}'` : `U+${digits}`
}

const RADIX: Readonly<Record<string, number>> = { b: 2, o: 8, O: 8, x: 16, X: 16 }

function formatWhole(flags: Flags, verb: string, value: bigint): string {
  const isNegative = value < 0n
  const sign = isNegative ? '-' : flags.plus ? '+' : flags.space ? ' ' : ''
  const size = (isNegative ? -value : value).toString(RADIX[verb] ?? 10)
  const { width = 0, precision } = flags
  if (precision === 0 && value === 0n) return pad({ ...flags, zero: false }, '')
  // A precision says how many digits are wanted, so zeros do not pad further.
  const count = precision ?? (flags.zero && !flags.minus ? width - sign.length : 0)
  const padded = size.padStart(count, '0')
  const digits = verb === 'X' ? padded.toUpperCase() : padded
  return pad({ ...flags, zero: false }, sign + prefixOf(flags, verb, digits) + digits)
}

function prefixOf(flags: Flags, verb: string, digits: string): string {
  if (verb === 'O') return '0o'
  if (!flags.sharp) return ''
  if (verb === 'o') return digits.startsWith('0') ? '' : '0'
  return verb === 'd' ? '' : `0${verb}`
}

function formatFloat(flags: Flags, verb: string, value: number): string {
  const digits = floatDigits(flags, verb, Math.abs(value))
  if (digits === undefined) return badVerb(flags, verb, { type: 'float64', value })
  const sign = value < 0 || Object.is(value, -0) ? '-' : flags.plus ? '+' : flags.space ? ' ' : ''
  if (flags.zero && !flags.minus)
    return sign + digits.padStart((flags.width ?? 0) - sign.length, '0')
  return pad({ ...flags, zero: false }, sign + digits)
}

function floatDigits(flags: Flags, verb: string, value: number): string | undefined {
  const { precision } = flags
  switch (verb) {
    case 'f':
    case 'F':
      return formatDigits(fractionOfDouble(value), precision ?? 6)
    case 'e':
    case 'E':
      return formatExponent(fractionOfDouble(value), precision ?? 6, verb)
    case 'v':
    case 'g':
    case 'G':
      return shortestDigits(flags, verb === 'G' ? 'E' : 'e', value)
    case 'b':
      return formatBinaryFloat(value)
    case 'x':
    case 'X':
      return formatHexFloat(value, verb, precision)
    default:
      return undefined
  }
}

/** Formats the shortest decimal that identifies the number, or with the given precision. */
function shortestDigits(flags: Flags, letter: string, value: number): string {
  const { precision } = flags
  const decimal = precision === undefined ? shortestDecimal(value) : fractionOfDouble(value)
  const text = formatShortest(decimal, letter, precision)
  return flags.sharp ? withZeros(text, letter, precision ?? 6) : text
}

/** `#` keeps the zeros behind the point up to the number of digits. */
function withZeros(text: string, letter: string, count: number): string {
  const [digits = '', exponent] = text.split(letter)
  const whole = digits.includes('.') ? digits : `${digits}.`
  const missing = count - whole.replace('.', '').replace(/^0+/, '').length
  const filled = whole + '0'.repeat(Math.max(0, missing))
  return exponent === undefined ? filled : `${filled}${letter}${exponent}`
}

function shortestDecimal(value: number): Decimal {
  const [digits = '0', exponent = '0'] = value.toExponential().replace('.', '').split('e')
  const scale = digits.length - 1 - Number(exponent)
  return scale >= 0
    ? { isNegative: false, digits: BigInt(digits), scale }
    : { isNegative: false, digits: BigInt(digits) * 10n ** BigInt(-scale), scale: 0 }
}

function pad(flags: Flags, text: string): string {
  const missing = (flags.width ?? 0) - (flags.width === undefined ? 0 : Array.from(text).length)
  if (missing <= 0) return text
  if (flags.minus) return text + ' '.repeat(missing)
  return (flags.zero ? '0' : ' ').repeat(missing) + text
}
