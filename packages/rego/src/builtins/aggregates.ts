import { addAll, multiplyAll } from '../value/arithmetic.ts'
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
  folding('sum', addAll),
  folding('product', multiplyAll),
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

function folding(
  name: string,
  combine: (numbers: readonly NumberValue[]) => NumberValue | undefined,
): Builtin {
  return define({ name, operands: [LIST], result: 'number' }, (context, list) => {
    const members = membersOf(list)
    context.charge(members.length)
    if (members.every(isNumber))
      return combine(members) ?? context.fail('the number has too many digits')
    const kind = isArray(list) ? 'array' : 'set'
    const other = members.find((member) => !isNumber(member)) ?? null
    return context.failType(
      `operand 1 must be ${kind} of numbers but got ${kind} containing ${kindOf(other)}`,
    )
  })
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
