import { compare, equal, isArray, ObjectValue, SetValue, type Value } from '../value/value.ts'
import { define, type Builtin } from './builtin.ts'

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
