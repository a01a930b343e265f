import type { Decimal } from '@reeve/kit/format-decimal.ts'

interface Parts {
  /** The value is `mantissa × 2^exponent`. */
  readonly mantissa: bigint
  readonly exponent: number
}

const FRACTION_BITS = 52
const BIAS = 1075

/** The two parts of a double that is not below zero. */
function partsOf(value: number): Parts {
  const view = new DataView(new ArrayBuffer(8))
  view.setFloat64(0, value)
  const bits = view.getBigUint64(0)
  const raw = Number(bits >> BigInt(FRACTION_BITS)) & 0x7ff
  const fraction = bits & ((1n << BigInt(FRACTION_BITS)) - 1n)
  return raw === 0
    ? { mantissa: fraction, exponent: 1 - BIAS }
    : { mantissa: fraction | (1n << BigInt(FRACTION_BITS)), exponent: raw - BIAS }
}

/** All the decimal digits of a double that is not below zero: every binary fraction has an end. */
export function fractionOfDouble(value: number): Decimal {
  const { mantissa, exponent } = partsOf(value)
  if (mantissa === 0n) return { isNegative: false, digits: 0n, scale: 0 }
  if (exponent >= 0) return { isNegative: false, digits: mantissa << BigInt(exponent), scale: 0 }
  let digits = mantissa
  let scale = -exponent
  while (digits % 2n === 0n && scale > 0) {
    digits /= 2n
    scale--
  }
  return { isNegative: false, digits: digits * 5n ** BigInt(scale), scale }
}

/** `4503599627370496p-52` */
export function formatBinaryFloat(value: number): string {
  const { mantissa, exponent } = partsOf(value)
  return `${mantissa}p${exponent < 0 ? '-' : '+'}${Math.abs(exponent)}`
}

/** `0x1.8p+00`, with so many digits behind the point. */
export function formatHexFloat(value: number, letter: string, precision?: number): string {
  const { mantissa, exponent } = partsOf(value)
  const width = mantissa === 0n ? 1 : mantissa.toString(2).length
  // One bit in front of the point, the others in whole digits behind it.
  const digitCount = Math.ceil((width - 1) / 4)
  let scaled = mantissa << BigInt(digitCount * 4 - (width - 1))
  let power = mantissa === 0n ? 0 : exponent + width - 1
  let fractionCount = digitCount
  if (precision !== undefined && precision < digitCount) {
    scaled = dropDigits(scaled, digitCount - precision)
    fractionCount = precision
    if (scaled >> BigInt(fractionCount * 4) > 1n) {
      scaled >>= 1n
      power++
    }
  }
  const hex = scaled.toString(16).padStart(fractionCount + 1, '0')
  const whole = hex.slice(0, hex.length - fractionCount)
  const all = hex.slice(hex.length - fractionCount)
  const fraction = precision === undefined ? all.replace(/0+$/, '') : all.padEnd(precision, '0')
  const point = fraction === '' ? '' : '.'
  const size = String(Math.abs(power)).padStart(2, '0')
  const text = `0x${whole}${point}${fraction}p${power < 0 ? '-' : '+'}${size}`
  return letter === 'X' ? text.toUpperCase() : text
}

/** Rounded to the nearest, ties to even. */
function dropDigits(value: bigint, count: number): bigint {
  const bits = BigInt(count * 4)
  const rest = value & ((1n << bits) - 1n)
  const half = 1n << (bits - 1n)
  const cut = value >> bits
  return rest > half || (rest === half && cut % 2n === 1n) ? cut + 1n : cut
}
