import { VALUE_DEPTH_MAX } from '../limits.ts'
import { OwnMap } from './map.ts'
import { isMap, ListValue, type Value } from './value.ts'

/** A deep copy of a list or map; `allocate` charges for it. */
export function copyOf(value: Value, keep: (cells: number) => void, depth = 0): Value {
  if (depth > VALUE_DEPTH_MAX) keep(Number.POSITIVE_INFINITY)
  if (value instanceof ListValue) {
    keep(value.items.length)
    return new ListValue(value.items.map((item) => copyOf(item, keep, depth + 1)))
  }
  if (!isMap(value)) return value
  keep(value.size)
  const copy = value.copy?.((member) => copyOf(member, keep, depth + 1))
  if (copy !== undefined) return copy
  return new OwnMap(
    value.keys().map((key) => [key, copyOf(value.get(key) ?? null, keep, depth + 1)]),
  )
}
