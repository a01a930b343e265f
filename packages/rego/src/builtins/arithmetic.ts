import { add, divide, multiply, negate, remainder, subtract } from '../value/arithmetic.ts'
import {
  compareNumbers,
  fromBigInt,
  isInteger,
  toBigInt,
  toDecimal,
  type NumberValue,
} from '../value/number.ts'
import { isNumber, kindOf, SetBuilder, SetValue } from '../value/value.ts'
import { define, typeMismatch, type Builtin, type CallContext } from './builtin.ts'

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
