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

/** A value of a native policy as JSON can show it; what JSON has no form for is shown as text. */
export function toPlain(value: Value, depth = 0): JsonValue {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value
  if (typeof value === 'number') return value
  if (depth > DEPTH_MAX) return '…'
  if (value instanceof ListValue) return value.items.map((item) => toPlain(item, depth + 1))
  if (value instanceof Undefined) return undefined
  if (isMapValue(value))
    return Object.fromEntries(
      value.keys().map((key) => [String(key), toPlain(value.get(key) ?? null, depth + 1)]),
    )
  const shown = formatValue(value, SHOWN_MAX)
  const number = Number(shown)
  return Number.isSafeInteger(number) ? number : shown
}
