import { VALUE_DEPTH_MAX } from '../limits.ts'
import { MutableMap } from './map.ts'
import { isMap, ListValue, type Value } from './value.ts'

/** A deep copy of a list or map; `allocate` charges for it. */
export function deepCopy(value: Value, keep: (cells: number) => void, depth = 0): Value {
  if (depth > VALUE_DEPTH_MAX) keep(Number.POSITIVE_INFINITY)
  if (value instanceof ListValue) {
    keep(value.items.length)
    return new ListValue(value.items.map((item) => deepCopy(item, keep, depth + 1)))
  }
  if (!isMap(value)) return value
  keep(value.size)
  const copy = value.copy?.((member) => deepCopy(member, keep, depth + 1))
  if (copy !== undefined) return copy
  return new MutableMap(
    value.keys().map((key) => [key, deepCopy(value.get(key) ?? null, keep, depth + 1)]),
  )
}
