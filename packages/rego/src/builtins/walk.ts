import { VALUE_DEPTH_MAX } from '../limits.ts'
import { isArray, ObjectValue, SetValue, type Value } from '../value/value.ts'
import { define, type Builtin, type CallContext } from './builtin.ts'

export const WALK_BUILTINS: readonly Builtin[] = [
  /** Every value inside a value as `[path, value]`, each before what is inside it. */
  define(
    { name: 'walk', operands: ['any'], result: 'array' },
    (context, value) => {
      const found: Value[] = []
      return visit({ context, found }, [], value) ? found : undefined
    },
    { isRelation: true },
  ),
]

interface Walk {
  readonly context: CallContext
  readonly found: Value[]
}

function visit(walk: Walk, path: readonly Value[], value: Value): boolean {
  walk.context.charge(1 + path.length)
  if (path.length > VALUE_DEPTH_MAX) {
    walk.context.fail('the value is nested too deeply')
    return false
  }
  walk.found.push([path, value])
  const into = (key: Value, inner: Value) => visit(walk, [...path, key], inner)
  if (isArray(value)) return value.every((item, at) => into(at, item))
  if (value instanceof ObjectValue) return value.entries().every(([key, item]) => into(key, item))
  if (value instanceof SetValue) return value.sorted().every((member) => into(member, member))
  return true
}
