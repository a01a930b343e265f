import { isArray, type Value } from '../value/value.ts'
import { define, type Builtin } from './builtin.ts'
import { smallWholeOf } from './operand.ts'

export const ARRAY_BUILTINS: readonly Builtin[] = [
  define(
    { name: 'array.concat', operands: ['array', 'array'], result: 'array' },
    (context, first, second) => {
      if (first.length === 0) return second
      if (second.length === 0) return first
      context.charge(first.length + second.length)
      return [...first, ...second]
    },
  ),
  // One level: what is inside the inner arrays stays.
  define({ name: 'array.flatten', operands: ['array'], result: 'array' }, (context, array) => {
    const length = array.reduce<number>((sum, item) => sum + (isArray(item) ? item.length : 1), 0)
    context.charge(array.length + length)
    return array.flatMap<Value>((item) => (isArray(item) ? item : [item]))
  }),
  define({ name: 'array.reverse', operands: ['array'], result: 'array' }, (context, array) => {
    context.charge(array.length)
    return array.toReversed()
  }),
  define(
    { name: 'array.slice', operands: ['array', 'number', 'number'], result: 'array' },
    (context, ...[array, start, stop]) => {
      const from = smallWholeOf(context, start, 2)
      if (from === undefined) return undefined
      const to = smallWholeOf(context, stop, 3)
      if (to === undefined) return undefined
      // Ends beyond the array mean its ends.
      const slice = array.slice(Math.max(from, 0), Math.max(to, 0))
      context.charge(slice.length)
      return slice
    },
  ),
]
