import {
  isMapValue,
  ListValue,
  formatValue,
  Undefined,
  type JsonValue,
  type Value,
} from '@reeve/native-policy'
import { SHOWN_MAX } from './limits.ts'

const DEPTH_MAX = 100

/**
 * Converts the value of a native policy to JSON; values that JSON cannot represent become strings.
 */
export function toJsonValue(value: Value, depth = 0): JsonValue {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value
  if (typeof value === 'number') return value
  if (depth > DEPTH_MAX) return '…'
  if (value instanceof ListValue) return value.items.map((item) => toJsonValue(item, depth + 1))
  if (value instanceof Undefined) return undefined
  if (isMapValue(value))
    return Object.fromEntries(
      value.keys().map((key) => [String(key), toJsonValue(value.get(key) ?? null, depth + 1)]),
    )
  const text = formatValue(value, SHOWN_MAX)
  const number = Number(text)
  return Number.isSafeInteger(number) ? number : text
}
