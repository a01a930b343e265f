import { NUMBER_DIGITS_MAX } from '../limits.ts'

/**
 * A number that a double does not hold exactly as written: `digits × 10^exponent`, `digits` without
 * trailing zeros. Everything else is a plain number: safe integers, and fractions whose shortest
 * text is the number meant. So equal numbers have equal representations.
 */
export class BigNumber {
  readonly digits: bigint
  readonly exponent: number
  constructor(digits: bigint, exponent: number) {
    this.digits = digits
    this.exponent = exponent
  }
}

export type NumberValue = number | BigNumber

interface Decimal {
  readonly digits: bigint
  readonly exponent: number
}

const DECIMAL = /^([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+))?$/

/** Reads decimal text with sign, fraction and exponent; nothing when it is none or huge. */
export function parseNumber(text: string): NumberValue | undefined {
  const match = DECIMAL.exec(text)
  if (match === null) return undefined
  const [, sign = '', whole = '', fraction = '', exponentText = '0'] = match
  if (whole === '' && fraction === '') return undefined
  if (whole.length + fraction.length > NUMBER_DIGITS_MAX) return undefined
  const exponent = Number(exponentText)
  if (Math.abs(exponent) > NUMBER_DIGITS_MAX) return undefined
  if (exponentText === '0' && fraction === '' && whole.length <= 15)
    return sign === '-' && Number(whole) !== 0 ? -Number(whole) : Number(whole)
  const digits = BigInt(whole + fraction)
  return fromDecimal(sign === '-' ? -digits : digits, exponent - fraction.length)
}

/** The number `digits × 10^exponent`; nothing when it has too many digits. */
export function fromDecimal(digits: bigint, exponent: number): NumberValue | undefined {
  if (digits === 0n) return 0
  const short = normalise(digits, exponent)
  const length = digitCount(short.digits)
  if (length > NUMBER_DIGITS_MAX || Math.abs(short.exponent) > NUMBER_DIGITS_MAX) return undefined
  if (short.exponent >= 0) {
    if (length + short.exponent <= 16) {
      const whole = Number(short.digits * 10n ** BigInt(short.exponent))
      if (Number.isSafeInteger(whole)) return whole
    }
    return new BigNumber(short.digits, short.exponent)
  }
  if (length <= 17) {
    const near = Number(`${short.digits}e${short.exponent}`)
    const back = decimalOfDouble(near)
    if (back.digits === short.digits && back.exponent === short.exponent) return near
  }
  return new BigNumber(short.digits, short.exponent)
}

export function fromBigInt(value: bigint): NumberValue | undefined {
  const near = Number(value)
  return Number.isSafeInteger(near) ? near : fromDecimal(value, 0)
}

/** The number a double stands for: its shortest text. Nothing for infinities and no-numbers. */
export function fromDouble(value: number): NumberValue | undefined {
  if (Number.isSafeInteger(value)) return value === 0 ? 0 : value
  if (!Number.isFinite(value)) return undefined
  if (!Number.isInteger(value)) return value
  const { digits, exponent } = decimalOfDouble(value)
  return fromDecimal(digits, exponent)
}

/** The nearest double. */
export function toDouble(value: NumberValue): number {
  return typeof value === 'number' ? value : Number(`${value.digits}e${value.exponent}`)
}

export function isInteger(value: NumberValue): boolean {
  return typeof value === 'number' ? Number.isInteger(value) : value.exponent >= 0
}

/** The exact whole number; nothing for fractions. */
export function toBigInt(value: NumberValue): bigint | undefined {
  if (typeof value === 'number') return Number.isInteger(value) ? BigInt(value) : undefined
  return value.exponent < 0 ? undefined : value.digits * 10n ** BigInt(value.exponent)
}

export function toDecimal(value: NumberValue): Decimal {
  if (typeof value !== 'number') return value
  return Number.isInteger(value) ? normalise(BigInt(value), 0) : decimalOfDouble(value)
}

export function compareNumbers(a: NumberValue, b: NumberValue): number {
  if (typeof a === 'number' && typeof b === 'number') return a < b ? -1 : a > b ? 1 : 0
  const left = toDecimal(a)
  const right = toDecimal(b)
  const exponent = Math.min(left.exponent, right.exponent)
  const x = left.digits * 10n ** BigInt(left.exponent - exponent)
  const y = right.digits * 10n ** BigInt(right.exponent - exponent)
  return x < y ? -1 : x > y ? 1 : 0
}

/** JSON text. Large and small magnitudes have an exponent, as doubles have. */
export function numberText(value: NumberValue): string {
  if (typeof value === 'number') return String(value)
  const { digits, exponent } = value
  const sign = digits < 0n ? '-' : ''
  const text = (digits < 0n ? -digits : digits).toString()
  if (exponent >= 0) {
    // Whole numbers are written out: a reader of integers must not meet an exponent.
    return sign + text + '0'.repeat(exponent)
  }
  const point = text.length + exponent
  if (point > 0) return `${sign}${text.slice(0, point)}.${text.slice(point)}`
  if (point > -6) return `${sign}0.${'0'.repeat(-point)}${text}`
  const rest = text.slice(1)
  return `${sign}${text[0] ?? ''}${rest === '' ? '' : `.${rest}`}e${point - 1}`
}

function digitCount(digits: bigint): number {
  return digits.toString().length - (digits < 0n ? 1 : 0)
}

/** Without trailing zeros. */
function normalise(digits: bigint, exponent: number): Decimal {
  if (digits === 0n) return { digits, exponent: 0 }
  if (digits % 10n !== 0n) return { digits, exponent }
  const text = digits.toString()
  let end = text.length
  while (text[end - 1] === '0') end--
  return { digits: BigInt(text.slice(0, end)), exponent: exponent + text.length - end }
}

const SHORTEST = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:e([+-][0-9]+))?$/

function decimalOfDouble(value: number): Decimal {
  const match = SHORTEST.exec(String(value))
  if (match === null) return { digits: 0n, exponent: 0 }
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = match
  const digits = BigInt(whole + fraction)
  return normalise(sign === '-' ? -digits : digits, Number(exponent) - fraction.length)
}
