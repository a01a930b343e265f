import { addAll, multiplyAll } from '../value/arithmetic.ts'
import {
  compare,
  EMPTY_SET,
  isArray,
  isNumber,
  kindOf,
  SetBuilder,
  SetValue,
  type Value,
} from '../value/value.ts'
import type { NumberValue } from '../value/number.ts'
import { define, type Builtin, type CallContext } from './builtin.ts'
import { smallWholeOf } from './operands.ts'

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

export const SET_BUILTINS: readonly Builtin[] = [
  define({ name: 'or', operands: ['set', 'set'], result: 'set' }, (context, a, b) => {
    context.charge(a.size + b.size)
    return new SetBuilder().addAll(a.unordered()).addAll(b.unordered()).build()
  }),
  define({ name: 'and', operands: ['set', 'set'], result: 'set' }, intersect),
  define({ name: 'union', operands: ['set'], result: 'set' }, (context, sets) => {
    const all = new SetBuilder()
    for (const set of sets.unordered()) {
      if (!(set instanceof SetValue)) return failMember(context, kindOf(set))
      context.charge(set.size)
      all.addAll(set.unordered())
    }
    return all.build()
  }),
  define({ name: 'intersection', operands: ['set'], result: 'set' }, (context, sets) => {
    let common: SetValue | undefined
    for (const set of sets.unordered()) {
      if (!(set instanceof SetValue)) return failMember(context, kindOf(set))
      common = common === undefined ? set : intersect(context, common, set)
    }
    return common ?? EMPTY_SET
  }),
]

function failMember(context: CallContext, kind: string): undefined {
  return context.failType(`operand 1 must be set of sets but got set containing ${kind}`)
}

function intersect(context: CallContext, a: SetValue, b: SetValue): SetValue {
  const [small, large] = a.size < b.size ? [a, b] : [b, a]
  context.charge(small.size)
  const common = new SetBuilder()
  for (const member of small.unordered()) if (large.has(member)) common.add(member)
  return common.build()
}
