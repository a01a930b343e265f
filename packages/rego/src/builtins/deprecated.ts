import { isArray, SetBuilder, setOf, type SetValue } from '../value/value.ts'
import { define, type Builtin } from './builtin.ts'
import { membersOf } from './operand.ts'

const LIST = ['array', 'set'] as const
const isDeprecated = true

/** Builtins that version 1 of the language has removed. */
export const DEPRECATED_BUILTINS: readonly Builtin[] = [
  define(
    { name: 'all', operands: [LIST], result: 'boolean' },
    (context, values) => {
      const members = membersOf(values)
      context.charge(members.length)
      return members.every((member) => member === true)
    },
    { isDeprecated },
  ),
  define(
    { name: 'any', operands: [LIST], result: 'boolean' },
    (context, values) => {
      const members = membersOf(values)
      context.charge(members.length)
      return members.includes(true)
    },
    { isDeprecated },
  ),
  define(
    { name: 'set_diff', operands: ['set', 'set'], result: 'set' },
    (context, a, b) => {
      context.charge(a.size)
      return difference(a, b)
    },
    { isDeprecated },
  ),
  define(
    { name: 'cast_array', operands: [LIST], result: 'array' },
    (context, value) => {
      const members = membersOf(value)
      context.charge(members.length)
      return members
    },
    { isDeprecated },
  ),
  define(
    { name: 'cast_set', operands: [LIST], result: 'set' },
    (context, value) => {
      if (!isArray(value)) return value
      context.charge(value.length)
      return setOf(value)
    },
    { isDeprecated },
  ),
  ...(['string', 'boolean', 'null', 'object'] as const).map((kind) =>
    define({ name: `cast_${kind}`, operands: [kind], result: kind }, (_context, value) => value, {
      isDeprecated,
    }),
  ),
]

function difference(a: SetValue, b: SetValue): SetValue {
  const left = new SetBuilder()
  for (const member of a.unordered()) if (!b.has(member)) left.add(member)
  return left.build()
}
