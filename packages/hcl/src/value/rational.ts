import {
  NUMBER_BITS_MAX,
  fromBigInt,
  fromFloat,
  NUMBER_LIMIT,
  type NumberValue,
} from '@reeve/kit/number.ts'

/**
 * An exact number during arithmetic, so that `0.1 + 0.2` is 0.3 and `1 / 3 * 3` is 1, as with the
 * arbitrary precision of the language. Only the final result is rounded to a double.
 */
export interface Rational {
  readonly numerator: bigint
  /** Always positive. */
  readonly denominator: bigint
}

/** Larger terms are rounded to a double: a chain of divisions would grow without bound. */
const TERM_LIMIT = 2n ** BigInt(4 * NUMBER_BITS_MAX)

export function toRational(value: NumberValue): Rational {
  if (typeof value === 'bigint') return { numerator: value, denominator: 1n }
  if (Number.isInteger(value)) return { numerator: BigInt(value), denominator: 1n }
  // The shortest decimal that parses to the same double is the one the user wrote.
  const [mantissa = '', exponentText = '0'] = String(value).split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  const digits = BigInt(whole + fraction)
  const exponent = Number(exponentText) - fraction.length
  if (exponent >= 0) return { numerator: digits * 10n ** BigInt(exponent), denominator: 1n }
  return { numerator: digits, denominator: 10n ** BigInt(-exponent) }
}

/** Undefined if out of range. */
export function fromRational(value: Rational): NumberValue | undefined {
  const { numerator, denominator } = value
  if (numerator % denominator === 0n) return fromBigInt(numerator / denominator)
  return fromFloat(toFloat(value))
}

/** Forty digits plus a sticky digit: enough to round correctly to the seventeen of a double. */
const FLOAT_DIGITS = 40

function toFloat({ numerator, denominator }: Rational): number {
  const magnitude = numerator < 0n ? -numerator : numerator
  const scale = FLOAT_DIGITS - magnitude.toString().length + denominator.toString().length
  const scaledUp = scale >= 0 ? magnitude * 10n ** BigInt(scale) : magnitude
  const divisor = scale >= 0 ? denominator : denominator * 10n ** BigInt(-scale)
  const rest = scaledUp % divisor === 0n ? '0' : '1'
  return Number(`${numerator < 0n ? '-' : ''}${scaledUp / divisor}${rest}e${-scale - 1}`)
}

export type ArithmeticOperator = '+' | '-' | '*' | '/' | '%'

/** Undefined if the result is out of range. The divisor must not be zero. */
export function calculate(
  operator: ArithmeticOperator,
  left: Rational,
  right: Rational,
): Rational | undefined {
  const result = settle(apply(operator, left, right))
  if (result === undefined) return undefined
  const whole = result.numerator / result.denominator
  return whole < NUMBER_LIMIT && whole > -NUMBER_LIMIT ? result : undefined
}

function apply(operator: ArithmeticOperator, left: Rational, right: Rational): Rational {
  switch (operator) {
    case '+':
      return add(left, right)
    case '-':
      return add(left, negate(right))
    case '*':
      return {
        numerator: left.numerator * right.numerator,
        denominator: left.denominator * right.denominator,
      }
    case '/':
      return divide(left, right)
    case '%':
      return remainder(left, right)
  }
}

export function negate(value: Rational): Rational {
  return { numerator: -value.numerator, denominator: value.denominator }
}

export function compare(left: Rational, right: Rational): number {
  const difference = left.numerator * right.denominator - right.numerator * left.denominator
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}

function add(left: Rational, right: Rational): Rational {
  if (left.denominator === right.denominator)
    return { numerator: left.numerator + right.numerator, denominator: left.denominator }
  return {
    numerator: left.numerator * right.denominator + right.numerator * left.denominator,
    denominator: left.denominator * right.denominator,
  }
}

function divide(left: Rational, right: Rational): Rational {
  const numerator = left.numerator * right.denominator
  const denominator = left.denominator * right.numerator
  return denominator < 0n
    ? { numerator: -numerator, denominator: -denominator }
    : { numerator, denominator }
}

/** Has the sign of the dividend, because division truncates towards zero. */
function remainder(left: Rational, right: Rational): Rational {
  const numerator = left.numerator * right.denominator
  const divisor = right.numerator * left.denominator
  return { numerator: numerator % divisor, denominator: left.denominator * right.denominator }
}

function settle(value: Rational): Rational | undefined {
  const { numerator, denominator } = value
  if (denominator < TERM_LIMIT && numerator < TERM_LIMIT && numerator > -TERM_LIMIT) return value
  const rounded = fromRational(value)
  return rounded === undefined ? undefined : toRational(rounded)
}
