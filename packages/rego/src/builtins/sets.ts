import { EMPTY_SET, kindOf, SetBuilder, SetValue } from '../value/value.ts'
import { define, type Builtin, type CallContext } from './builtin.ts'

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
