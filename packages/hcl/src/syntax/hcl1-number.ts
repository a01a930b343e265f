import { fromBigInt, parseNumber, type NumberValue } from '@reeve/kit/number.ts'
import { failNext, spanTo, takeMatch, type LegacyReader } from './hcl1-reader.ts'
import { report } from '../text/diagnostic.ts'

const NUMBER =
  /-?(?:0[xX][0-9a-fA-F]+|(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)(?![\p{L}\p{Nd}_])/uy
const HEX = /^(-?)0[xX](.*)$/
const OCTAL = /^(-?)0([0-9]+)$/

/** Decimal with fraction and exponent, hexadecimal with `0x`, octal with `0`. */
export function readLegacyNumber(reader: LegacyReader): NumberValue | undefined {
  const start = reader.at
  const text = takeMatch(reader, NUMBER)
  if (text === undefined) {
    const detail = 'Expected a string, a number, true, false, a list or an object.'
    return failNext(reader, 'Invalid value', detail)
  }
  const value = toNumber(text)
  if (value !== undefined) return value
  const detail =
    'A number that begins with 0 is octal, and numbers must be below 2 to the power of 1024.'
  const span = spanTo(reader, start, reader.at)
  return report(reader.problems, { span, summary: 'Invalid number', detail })
}

function toNumber(text: string): NumberValue | undefined {
  const hex = HEX.exec(text)
  if (hex !== null) return fromDigits(hex, '0x')
  const octal = OCTAL.exec(text)
  if (octal === null) return parseNumber(text)
  return /^[0-7]+$/.test(octal[2] ?? '') ? fromDigits(octal, '0o') : undefined
}

/**
 * 1024 bits are 256 hexadecimal or 342 octal digits; longer ones are out of range or leading zeros.
 */
const DIGITS_MAX = 342

function fromDigits(match: RegExpExecArray, prefix: '0x' | '0o'): NumberValue | undefined {
  const [, sign, digits = ''] = match
  if (digits.length > DIGITS_MAX) return undefined
  const value = BigInt(`${prefix}${digits}`)
  return fromBigInt(sign === '-' ? -value : value)
}
