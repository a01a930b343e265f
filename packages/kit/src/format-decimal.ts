/** A decimal number: `digits` / 10^`scale`. */
export interface Decimal {
  readonly isNegative: boolean
  readonly digits: bigint
  readonly scale: number
}

/** `123.46`: fixed number of fraction digits, rounded half to even. Without sign. */
export function formatDigits(decimal: Decimal, precision: number): string {
  const rounded = rescale(decimal, precision)
    .toString()
    .padStart(precision + 1, '0')
  const pointAt = rounded.length - precision
  return precision === 0 ? rounded : `${rounded.slice(0, pointAt)}.${rounded.slice(pointAt)}`
}

/** `1.2346e+02`: fixed number of fraction digits. Without sign. */
export function formatExponent(decimal: Decimal, precision: number, letter: string): string {
  const { digits, exponent } = roundTo(decimal, precision + 1)
  return scientific(digits.padEnd(precision + 1, '0'), exponent, letter)
}

/**
 * Shortest form with sign, as Go's `%g`. Uses an exponent if it is below -4 or at least
 * `precision`. Without a precision all digits are written, and the exponent starts at six digits.
 */
export function formatShortest(decimal: Decimal, letter: string, precision?: number): string {
  const sign = decimal.isNegative ? '-' : ''
  if (decimal.digits === 0n) return `${sign}0`
  const wantedCount = precision === undefined ? undefined : Math.max(1, precision)
  const { digits, exponent } = roundTo(decimal, wantedCount)
  const significant = digits.replace(/0+$/, '') || '0'
  const threshold = exponentThreshold(wantedCount, significant.length, exponent)
  if (exponent < -4 || exponent >= threshold)
    return sign + scientific(significant, exponent, letter)
  return sign + positional(significant, exponent)
}

const SHORTEST_THRESHOLD = 6

function exponentThreshold(
  precision: number | undefined,
  digitCount: number,
  exponent: number,
): number {
  if (precision === undefined) return SHORTEST_THRESHOLD
  // A whole number whose digits all fit is written without an exponent.
  return precision > digitCount && digitCount >= exponent + 1 ? digitCount : precision
}

function scientific(digits: string, exponent: number, letter: string): string {
  const fraction = digits.length > 1 ? `.${digits.slice(1)}` : ''
  const size = String(Math.abs(exponent)).padStart(2, '0')
  return `${digits.slice(0, 1)}${fraction}${letter}${exponent < 0 ? '-' : '+'}${size}`
}

function positional(digits: string, exponent: number): string {
  if (exponent < 0) return `0.${'0'.repeat(-exponent - 1)}${digits}`
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, '0')
  const fraction = digits.slice(exponent + 1)
  return fraction === '' ? whole : `${whole}.${fraction}`
}

/**
 * Rounds to the first `count` digits and returns the exponent of the first digit. Without a count,
 * all digits.
 */
function roundTo(
  { digits, scale }: Decimal,
  count: number | undefined,
): { readonly digits: string; readonly exponent: number } {
  const all = digits.toString()
  const exponent = digits === 0n ? 0 : all.length - 1 - scale
  if (count === undefined || all.length <= count) return { digits: all, exponent }
  const rounded = divideRounded(digits, 10n ** BigInt(all.length - count)).toString()
  // Rounding 99… up adds a digit.
  const isLonger = rounded.length > count
  return isLonger
    ? { digits: rounded.slice(0, count), exponent: exponent + 1 }
    : { digits: rounded, exponent }
}

/** Converts the digits to another scale. */
function rescale({ digits, scale }: Decimal, wanted: number): bigint {
  return wanted >= scale
    ? digits * 10n ** BigInt(wanted - scale)
    : divideRounded(digits, 10n ** BigInt(scale - wanted))
}

function divideRounded(value: bigint, divisor: bigint): bigint {
  const quotient = value / divisor
  const twice = (value % divisor) * 2n
  const isUp = twice > divisor || (twice === divisor && quotient % 2n === 1n)
  return isUp ? quotient + 1n : quotient
}
