import { NUMBER_DIGITS_MAX } from '../limits.ts'
import {
  fromBigInt,
  fromDecimal,
  isInteger,
  toBigInt,
  toDecimal,
  type NumberValue,
} from './number.ts'

/**
 * Integers are exact. Fractions are rounded to this many binary digits at every step, like in other
 * implementations of the language; the result is the shortest decimal that rounds to it, so `0.1 +
 * 0.2` is `0.3`.
 */
const MANTISSA_BITS = 64

/** Precision of the product of a list that contains a fraction. */
const PRODUCT_BITS = 53

/** Exponents beyond it mean too many digits: a decimal digit has less than four bits. */
const PRODUCT_EXPONENT_MAX = 4 * NUMBER_DIGITS_MAX

export function add(a: NumberValue, b: NumberValue): NumberValue | undefined {
  if (typeof a === 'number' && typeof b === 'number') {
    const sum = a + b
    if (Number.isSafeInteger(sum) && Number.isInteger(a)) return sum
  }
  return compute(a, b, OPERATIONS.add)
}

export function subtract(a: NumberValue, b: NumberValue): NumberValue | undefined {
  if (typeof a === 'number' && typeof b === 'number') {
    const difference = a - b
    if (Number.isSafeInteger(difference) && Number.isInteger(a)) return difference
  }
  return compute(a, b, OPERATIONS.subtract)
}

export function multiply(a: NumberValue, b: NumberValue): NumberValue | undefined {
  if (typeof a === 'number' && typeof b === 'number') {
    const product = a * b
    if (Number.isSafeInteger(product) && Number.isInteger(a) && Number.isInteger(b))
      return product === 0 ? 0 : product
  }
  return compute(a, b, OPERATIONS.multiply)
}

/** The divisor must not be zero. */
export function divide(a: NumberValue, b: NumberValue): NumberValue | undefined {
  if (typeof a === 'number' && typeof b === 'number') {
    const quotient = a / b
    if (
      Number.isSafeInteger(quotient) &&
      Number.isInteger(a) &&
      Number.isInteger(b) &&
      quotient * b === a
    )
      return quotient === 0 ? 0 : quotient
  }
  return compute(a, b, OPERATIONS.divide)
}

/** Both must be integers and the divisor not zero; the sign is that of the dividend. */
export function remainder(a: bigint, b: bigint): NumberValue | undefined {
  return fromBigInt(a % b)
}

export function negate(value: NumberValue): NumberValue {
  if (typeof value === 'number') return value === 0 ? 0 : -value
  return fromDecimal(-value.digits, value.exponent) ?? value
}

export function addAll(values: readonly NumberValue[]): NumberValue | undefined {
  return fold(values, 0, add)
}

/** Exact for integers, otherwise with double precision after every factor. */
export function multiplyAll(values: readonly NumberValue[]): NumberValue | undefined {
  if (values.every(isInteger)) return fold(values, 1, multiply)
  let product: Binary = { mantissa: 1n, exponent: 0 }
  for (const value of values) {
    product = multiplyBinary(product, roundDecimal(value))
    if (Math.abs(product.exponent) > PRODUCT_EXPONENT_MAX) return undefined
  }
  return shortest(product, PRODUCT_BITS)
}

function fold(
  values: readonly NumberValue[],
  start: NumberValue,
  combine: (a: NumberValue, b: NumberValue) => NumberValue | undefined,
): NumberValue | undefined {
  let total = start
  for (const value of values) {
    const next = combine(total, value)
    if (next === undefined) return undefined
    total = next
  }
  return total
}

function multiplyBinary(a: Binary, b: Binary): Binary {
  const { mantissa, exponent } = round({ over: a.mantissa * b.mantissa, under: 1n }, PRODUCT_BITS)
  return { mantissa, exponent: exponent + a.exponent + b.exponent }
}

interface Fraction {
  readonly over: bigint
  readonly under: bigint
}
/** `mantissa × 2^exponent`; the mantissa has at most as many bits as the precision. */
interface Binary {
  readonly mantissa: bigint
  readonly exponent: number
}
interface Operation {
  /** Exact integer operation; undefined if the result is not an integer. */
  readonly whole: (a: bigint, b: bigint) => bigint | undefined
  readonly fraction: (a: Fraction, b: Fraction) => Fraction
}

const OPERATIONS = {
  add: {
    whole: (a, b) => a + b,
    fraction: (a, b) => ({ over: a.over * b.under + b.over * a.under, under: a.under * b.under }),
  },
  subtract: {
    whole: (a, b) => a - b,
    fraction: (a, b) => ({ over: a.over * b.under - b.over * a.under, under: a.under * b.under }),
  },
  multiply: {
    whole: (a, b) => a * b,
    fraction: (a, b) => ({ over: a.over * b.over, under: a.under * b.under }),
  },
  divide: {
    whole: (a, b) => (a % b === 0n ? a / b : undefined),
    fraction: (a, b) => ({ over: a.over * b.under, under: a.under * b.over }),
  },
} as const satisfies Record<string, Operation>

function compute(a: NumberValue, b: NumberValue, operation: Operation): NumberValue | undefined {
  const left = toBigInt(a)
  const right = toBigInt(b)
  if (left !== undefined && right !== undefined) {
    const whole = operation.whole(left, right)
    if (whole !== undefined) return fromBigInt(whole)
  }
  const result = operation.fraction(fractionOf(roundDecimal(a)), fractionOf(roundDecimal(b)))
  return shortest(round(result))
}

function roundDecimal(value: NumberValue, bits = MANTISSA_BITS): Binary {
  const { digits, exponent } = toDecimal(value)
  return round(
    exponent >= 0
      ? { over: digits * 10n ** BigInt(exponent), under: 1n }
      : { over: digits, under: 10n ** BigInt(-exponent) },
    bits,
  )
}

function fractionOf({ mantissa, exponent }: Binary): Fraction {
  return exponent >= 0
    ? { over: mantissa << BigInt(exponent), under: 1n }
    : { over: mantissa, under: 1n << BigInt(-exponent) }
}

/** Rounds to nearest, ties to even. */
function round({ over, under }: Fraction, bits = MANTISSA_BITS): Binary {
  if (over === 0n) return { mantissa: 0n, exponent: 0 }
  const isNegative = over < 0n !== under < 0n
  const top = over < 0n ? -over : over
  const bottom = under < 0n ? -under : under
  let exponent = bitLength(top) - bitLength(bottom) - bits
  let mantissa = quotientAt(top, bottom, exponent)
  if (bitLength(mantissa) > bits) {
    exponent++
    mantissa = quotientAt(top, bottom, exponent)
  }
  return { mantissa: isNegative ? -mantissa : mantissa, exponent }
}

function quotientAt(top: bigint, bottom: bigint, exponent: number): bigint {
  const over = exponent < 0 ? top << BigInt(-exponent) : top
  const under = exponent > 0 ? bottom << BigInt(exponent) : bottom
  const quotient = over / under
  const rest = (over % under) * 2n
  return rest > under || (rest === under && quotient % 2n === 1n) ? quotient + 1n : quotient
}

function bitLength(value: bigint): number {
  return value.toString(2).length
}

/** Returns the shortest decimal that rounds to the same binary number. */
function shortest(binary: Binary, bits = MANTISSA_BITS): NumberValue | undefined {
  if (binary.mantissa === 0n) return 0
  const { over, under } = fractionOf(binary)
  const top = over < 0n ? -over : over
  const scale = top.toString().length - under.toString().length
  for (let count = 15; count <= 22; count++) {
    // Yields `count` digits or one more: the scale is an estimate from the lengths.
    const exponent = scale - count
    const digits = nearest(top, under, exponent)
    const candidate = fromDecimal(over < 0n ? -digits : digits, exponent)
    if (candidate === undefined) return undefined
    const back = roundDecimal(candidate, bits)
    if (sameBinary(back, binary)) return candidate
  }
  return undefined
}

function nearest(top: bigint, under: bigint, exponent: number): bigint {
  const over = exponent < 0 ? top * 10n ** BigInt(-exponent) : top
  const bottom = exponent > 0 ? under * 10n ** BigInt(exponent) : under
  return (over * 2n + bottom) / (bottom * 2n)
}

function sameBinary(a: Binary, b: Binary): boolean {
  const shift = BigInt(Math.abs(a.exponent - b.exponent))
  return a.exponent >= b.exponent
    ? a.mantissa << shift === b.mantissa
    : a.mantissa === b.mantissa << shift
}
