import { add, multiply } from '../value/arithmetic.ts'
import { compare, isArray, isNumber, kindOf, type SetValue, type Value } from '../value/value.ts'
import type { NumberValue } from '../value/number.ts'
import { define, type Builtin, type CallContext } from './builtin.ts'

type List = readonly Value[] | SetValue

const LIST = ['array', 'set'] as const

function membersOf(collection: List): readonly Value[] {
  return isArray(collection) ? collection : collection.sorted()
}

export const AGGREGATE_BUILTINS: readonly Builtin[] = [
  define(
    { name: 'count', operands: [['array', 'object', 'set', 'string']], result: 'number' },
    (context, collection) => {
      if (typeof collection !== 'string')
        return isArray(collection) ? collection.length : collection.size
      context.charge(collection.length >> 6)
      let count = 0
      for (const _ of collection) count++
      return count
    },
  ),
  define({ name: 'sum', operands: [LIST], result: 'number' }, (context, list) =>
    fold(context, list, { start: 0, combine: add }),
  ),
  define({ name: 'product', operands: [LIST], result: 'number' }, (context, list) =>
    fold(context, list, { start: 1, combine: multiply }),
  ),
  define({ name: 'max', operands: [LIST], result: 'any' }, (context, list) =>
    extreme(context, list, (order) => order > 0),
  ),
  define({ name: 'min', operands: [LIST], result: 'any' }, (context, list) =>
    extreme(context, list, (order) => order < 0),
  ),
  define({ name: 'sort', operands: [LIST], result: 'array' }, (context, list) => {
    const members = membersOf(list)
    context.charge(members.length)
    return isArray(list) ? members.toSorted(compare) : members
  }),
]

interface Folding {
  readonly start: NumberValue
  readonly combine: (a: NumberValue, b: NumberValue) => NumberValue | undefined
}

function fold(context: CallContext, list: List, { start, combine }: Folding): Value | undefined {
  let total = start
  const members = membersOf(list)
  context.charge(members.length)
  for (const member of members) {
    if (!isNumber(member)) {
      const kind = isArray(list) ? 'array' : 'set'
      return context.failType(
        `operand 1 must be ${kind} of numbers but got ${kind} containing ${kindOf(member)}`,
      )
    }
    const next = combine(total, member)
    if (next === undefined) return context.fail('the number has too many digits')
    total = next
  }
  return total
}

function extreme(
  context: CallContext,
  list: List,
  isBetter: (order: number) => boolean,
): Value | undefined {
  const members = membersOf(list)
  context.charge(members.length)
  let best: Value | undefined
  for (const member of members)
    if (best === undefined || isBetter(compare(member, best))) best = member
  return best
}
