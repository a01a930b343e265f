/**
 * Numbers are less than 2^1024, the range of a double. Integers are exact, fractions are doubles.
 */
export const NUMBER_BITS_MAX = 1024

/** A bigint only for integers beyond the safe integers of a number. */
export type NumberValue = number | bigint

export const NUMBER_LIMIT = 2n ** BigInt(NUMBER_BITS_MAX)

/** Decimal digits of the largest number. */
const DIGITS_MAX = NUMBER_LIMIT.toString().length

const DECIMAL = /^([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+))?$/

/**
 * Parses a decimal with optional sign, fraction and exponent; undefined if invalid or out of range.
 */
export function parseNumber(text: string): NumberValue | undefined {
  const match = DECIMAL.exec(text)
  if (match === null) return undefined
  const [, sign = '', whole = '', fraction = '', exponentText = '0'] = match
  if (whole === '' && fraction === '') return undefined
  const written = trimZeros(whole + fraction)
  if (written.digits === '') return 0
  const exponent = Number(exponentText) - fraction.length + written.droppedCount
  if (written.digits.length + exponent > DIGITS_MAX) return undefined
  if (exponent < 0) return fromFloat(Number(text))
  const value = BigInt(written.digits) * 10n ** BigInt(exponent)
  return fromBigInt(sign === '-' ? -value : value)
}

/**
 * Strips zeros on both sides and counts those on the right. A loop, because a regular expression
 * would be quadratic.
 */
function trimZeros(digits: string): { readonly digits: string; readonly droppedCount: number } {
  let start = 0
  let end = digits.length
  while (start < end && digits[start] === '0') start++
  while (end > start && digits[end - 1] === '0') end--
  return { digits: digits.slice(start, end), droppedCount: digits.length - end }
}

/** Undefined if out of range. */
export function fromBigInt(value: bigint): NumberValue | undefined {
  const number = Number(value)
  if (Number.isSafeInteger(number)) return number
  return value < NUMBER_LIMIT && value > -NUMBER_LIMIT ? value : undefined
}

/** Undefined for infinities and NaN. */
export function fromFloat(value: number): NumberValue | undefined {
  if (Number.isSafeInteger(value)) return value === 0 ? 0 : value
  return Number.isInteger(value)
    ? fromBigInt(BigInt(value))
    : Number.isFinite(value)
      ? value
      : undefined
}

/** Digits without an exponent, as in templates and JSON. */
export function numberToText(value: NumberValue): string {
  if (typeof value === 'bigint') return value.toString()
  if (Number.isInteger(value)) return BigInt(value).toString()
  const text = String(value)
  const match = /^(-?)([0-9])(?:\.([0-9]+))?e-([0-9]+)$/.exec(text)
  if (match === null) return text
  const [, sign = '', first = '', rest = '', exponent = ''] = match
  return `${sign}0.${'0'.repeat(Number(exponent) - 1)}${first}${rest}`
}

export function numbersEqual(a: NumberValue, b: NumberValue): boolean {
  // Loose equality compares a bigint with a number by value; `===` is always false between the two.
  // oxlint-disable-next-line eqeqeq
  return a == b
}

/** A number with separators, as `1,000,000`. */
export function grouped(value: number): string {
  const [whole = '', fraction] = String(value).split('.')
  const text = whole.replaceAll(/\B(?=(?:\d{3})+$)/g, ',')
  return fraction === undefined ? text : `${text}.${fraction}`
}
