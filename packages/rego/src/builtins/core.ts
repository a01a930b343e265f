import { parseDuration } from '@reeve/go-template/time'
import { parseNumber } from '../value/number.ts'
import {
  compare,
  equal,
  isArray,
  type Kind,
  kindOf,
  ObjectValue,
  SetBuilder,
  setOf,
  SetValue,
  type Value,
} from '../value/value.ts'
import { define, type Builtin } from './builtin.ts'
import { membersOf } from './operands.ts'

function comparison(name: string, holds: (a: Value, b: Value) => boolean): Builtin {
  return define({ name, operands: ['any', 'any'], result: 'boolean' }, (_, a, b) => holds(a, b))
}

export const COMPARISON_BUILTINS: readonly Builtin[] = [
  comparison('equal', equal),
  comparison('neq', (a, b) => !equal(a, b)),
  comparison('lt', (a, b) => compare(a, b) < 0),
  comparison('lte', (a, b) => compare(a, b) <= 0),
  comparison('gt', (a, b) => compare(a, b) > 0),
  comparison('gte', (a, b) => compare(a, b) >= 0),
  /** `x in xs` */
  define(
    { name: 'internal.member_2', operands: ['any', 'any'], result: 'boolean' },
    (context, value, collection) => {
      if (collection instanceof SetValue) return collection.has(value)
      if (isArray(collection)) {
        context.charge(collection.length)
        return collection.some((item) => equal(item, value))
      }
      if (!(collection instanceof ObjectValue)) return false
      context.charge(collection.size)
      return collection.values().some((item) => equal(item, value))
    },
  ),
  /** `k, v in xs` */
  define(
    { name: 'internal.member_3', operands: ['any', 'any', 'any'], result: 'boolean' },
    (_, ...operands) => {
      const [key, value, collection] = operands
      if (collection instanceof SetValue) return equal(key, value) && collection.has(value)
      const item =
        collection instanceof ObjectValue
          ? collection.get(key)
          : isArray(collection) && typeof key === 'number'
            ? collection[key]
            : undefined
      return item !== undefined && equal(item, value)
    },
  ),
]

const KINDS: readonly Kind[] = ['array', 'boolean', 'null', 'number', 'object', 'set', 'string']

export const TYPE_BUILTINS: readonly Builtin[] = [
  ...KINDS.map((kind) =>
    define(
      { name: `is_${kind}`, operands: ['any'], result: 'boolean' },
      (_context, value) => kindOf(value) === kind,
    ),
  ),
  define({ name: 'type_name', operands: ['any'], result: 'string' }, (_context, value) =>
    kindOf(value),
  ),
  define(
    { name: 'to_number', operands: [['null', 'boolean', 'number', 'string']], result: 'number' },
    (context, value) => {
      if (value === null || typeof value === 'boolean') return value === true ? 1 : 0
      if (typeof value !== 'string') return value
      if (/^[+-]*(?:inf|infinity|nan)$/i.test(value))
        return context.failType('operand 1 must be valid number string but got string')
      return (
        parseNumber(value) ??
        context.fail(`strconv.ParseFloat: parsing ${JSON.stringify(value)}: invalid syntax`)
      )
    },
  ),
]

export const TEST_CASE = 'internal.test_case'

export const TRACING_BUILTINS: readonly Builtin[] = [
  define({ name: 'trace', operands: ['string'], result: 'boolean' }, (context, text) => {
    context.note(text)
    return true
  }),
  // For tests of policies. It does not wait: the time of an evaluation does not pass.
  define({ name: 'test.sleep', operands: ['string'], result: 'null' }, (context, text) =>
    parseDuration(text) === undefined
      ? context.fail(`time: invalid duration ${JSON.stringify(text)}`)
      : null,
  ),
  // Put into the rules of tests by the compiler; see `withCases`.
  define({ name: TEST_CASE, operands: ['array'], result: 'boolean' }, (context, path) => {
    context.testCase(path)
    return true
  }),
]

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
