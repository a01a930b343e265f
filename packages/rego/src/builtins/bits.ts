import { NUMBER_DIGITS_MAX } from '../limits.ts'
import { fromBigInt, type NumberValue } from '../value/number.ts'
import { define, type Builtin, type CallContext } from './builtin.ts'
import { wholeOf } from './operand.ts'

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
