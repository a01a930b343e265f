import { NUMBER_DIGITS_MAX } from '../limits.ts'
import { add, divide, multiply, negate, remainder, subtract } from '../value/arithmetic.ts'
import {
  compareNumbers,
  fromBigInt,
  isInteger,
  type NumberValue,
  toBigInt,
  toDecimal,
} from '../value/number.ts'
import { isNumber, kindOf, SetBuilder, SetValue, type Value } from '../value/value.ts'
import { define, type Builtin, type CallContext, typeMismatch } from './builtin.ts'
import { smallWholeOf, wholeOf } from './operands.ts'

export const NUMBER_BUILTINS: readonly Builtin[] = [
  define(
    { name: 'numbers.range', operands: ['number', 'number'], result: 'array' },
    (context, from, to) => range(context, [from, to], 1n),
  ),
  define(
    { name: 'numbers.range_step', operands: ['number', 'number', 'number'], result: 'array' },
    (context, ...[from, to, step]) => {
      const whole = wholeOf(context, step, 3)
      if (whole === undefined) return undefined
      return whole > 0n
        ? range(context, [from, to], whole)
        : context.fail('step must be a positive integer')
    },
  ),
  define(
    { name: 'rand.intn', operands: ['string', 'number'], result: 'number' },
    (context, name, limit) => {
      const bound = smallWholeOf(context, limit, 2)
      if (bound === undefined) return undefined
      return drawBelow(context, name, Math.abs(bound))
    },
  ),
]

/** Both ends are in it; it goes down when the first is the larger one. */
function range(
  context: CallContext,
  ends: readonly [NumberValue, NumberValue],
  step: bigint,
): readonly Value[] | undefined {
  const from = wholeOf(context, ends[0], 1)
  if (from === undefined) return undefined
  const to = wholeOf(context, ends[1], 2)
  if (to === undefined) return undefined
  const distance = from <= to ? to - from : from - to
  // Paid before any element exists: the count may be larger than all memory.
  context.charge(Number(distance / step) + 1)
  const elements: Value[] = []
  for (let passed = 0n; passed <= distance; passed += step)
    elements.push(fromBigInt(from <= to ? from + passed : from - passed) ?? 0)
  return elements
}

/** The same for equal operands within one evaluation. */
function drawBelow(context: CallContext, name: string, bound: number): number {
  if (bound === 0) return 0
  const key = `rand.intn ${bound} ${name}`
  const known = context.memory.get(key)
  if (typeof known === 'number') return known
  const drawn = Math.floor(context.random() * bound)
  context.memory.set(key, drawn)
  return drawn
}

const TOO_LARGE = 'the number has too many digits'

type Operation = (a: NumberValue, b: NumberValue) => NumberValue | undefined

function operation(name: string, compute: Operation): Builtin {
  return define(
    { name, operands: ['number', 'number'], result: 'number' },
    (context, a, b) => compute(a, b) ?? context.fail(TOO_LARGE),
  )
}

function rounding(name: string, compute: (value: NumberValue) => bigint): Builtin {
  return define({ name, operands: ['number'], result: 'number' }, (context, value) => {
    if (isInteger(value)) return value
    return fromBigInt(compute(value)) ?? context.fail(TOO_LARGE)
  })
}

export const ARITHMETIC_BUILTINS: readonly Builtin[] = [
  operation('plus', add),
  operation('mul', multiply),
  define(
    {
      name: 'minus',
      operands: [
        ['number', 'set'],
        ['number', 'set'],
      ],
      result: 'any',
    },
    (context, a, b) => {
      if (isNumber(a) && isNumber(b)) return subtract(a, b) ?? context.fail(TOO_LARGE)
      if (a instanceof SetValue && b instanceof SetValue) return difference(context, a, b)
      return context.failType(typeMismatch(2, kindOf(a), kindOf(b)))
    },
  ),
  define({ name: 'div', operands: ['number', 'number'], result: 'number' }, (context, a, b) => {
    if (b === 0) return context.fail('divide by zero')
    return divide(a, b) ?? context.fail(TOO_LARGE)
  }),
  define({ name: 'rem', operands: ['number', 'number'], result: 'number' }, (context, a, b) => {
    const left = toBigInt(a)
    const right = toBigInt(b)
    if (left === undefined || right === undefined)
      return context.fail('modulo on floating-point number')
    if (right === 0n) return context.fail('modulo by zero')
    return remainder(left, right)
  }),
  define({ name: 'abs', operands: ['number'], result: 'number' }, (_, value) =>
    compareNumbers(value, 0) < 0 ? negate(value) : value,
  ),
  rounding('floor', floor),
  rounding('ceil', (value) => -floor(negate(value))),
  rounding('round', (value) => {
    const isNegative = compareNumbers(value, 0) < 0
    // Half away from zero.
    const magnitude = floor(add(isNegative ? negate(value) : value, 0.5) ?? value)
    return isNegative ? -magnitude : magnitude
  }),
]

/** The largest whole number that is not above. */
function floor(value: NumberValue): bigint {
  const { digits, exponent } = toDecimal(value)
  if (exponent >= 0) return digits * 10n ** BigInt(exponent)
  const scale = 10n ** BigInt(-exponent)
  const quotient = digits / scale
  return digits < 0n && quotient * scale !== digits ? quotient - 1n : quotient
}

function difference(context: CallContext, a: SetValue, b: SetValue): SetValue {
  context.charge(a.size)
  const left = new SetBuilder()
  for (const member of a.unordered()) if (!b.has(member)) left.add(member)
  return left.build()
}

/** More would have more digits than a number may have: a digit takes more than three bits. */
const SHIFT_MAX = NUMBER_DIGITS_MAX * 4

/** Numbers below zero behave as if they had endless leading ones. */
export const BIT_BUILTINS: readonly Builtin[] = [
  bitwise('bits.and', (a, b) => a & b),
  bitwise('bits.or', (a, b) => a | b),
  bitwise('bits.xor', (a, b) => a ^ b),
  define({ name: 'bits.negate', operands: ['number'], result: 'number' }, (context, value) => {
    const whole = wholeOf(context, value, 1)
    return whole === undefined ? undefined : toNumber(context, ~whole)
  }),
  shift('bits.lsh', (value, by) => value << by),
  shift('bits.rsh', (value, by) => value >> by),
]

function bitwise(name: string, compute: (a: bigint, b: bigint) => bigint): Builtin {
  return define({ name, operands: ['number', 'number'], result: 'number' }, (context, a, b) => {
    const left = wholeOf(context, a, 1)
    if (left === undefined) return undefined
    const right = wholeOf(context, b, 2)
    return right === undefined ? undefined : toNumber(context, compute(left, right))
  })
}

function shift(name: string, compute: (value: bigint, by: bigint) => bigint): Builtin {
  return define({ name, operands: ['number', 'number'], result: 'number' }, (context, a, b) => {
    const value = wholeOf(context, a, 1)
    if (value === undefined) return undefined
    const by = wholeOf(context, b, 2)
    if (by === undefined) return undefined
    if (by < 0n)
      return context.failType(
        'operand 2 must be an unsigned integer number but got a negative integer',
      )
    if (by > BigInt(SHIFT_MAX)) return context.fail(`the shift is larger than ${SHIFT_MAX} bits`)
    return toNumber(context, compute(value, by))
  })
}

function toNumber(context: CallContext, value: bigint): NumberValue | undefined {
  return fromBigInt(value) ?? context.fail('the number has too many digits')
}
