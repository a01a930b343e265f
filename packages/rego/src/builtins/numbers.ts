import { fromBigInt, type NumberValue } from '../value/number.ts'
import type { Value } from '../value/value.ts'
import { define, type Builtin, type CallContext } from './builtin.ts'
import { smallWholeOf, wholeOf } from './operand.ts'

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
