import { formatArgument, type Flags } from './fmt/format-verb.ts'
import type { YamlValue } from '@reeve/kit/yaml/index.ts'

/**
 * Values of expressions. Whole numbers are `bigint`, others `number`; `undefined` is the value of a
 * missing key, `null` is nil.
 */
export type Value =
  | undefined
  | null
  | boolean
  | bigint
  | number
  | string
  | readonly Value[]
  | ReadonlyMap<string, Value>
  | StructValue

/**
 * A value with a fixed set of fields: an unknown field is an error, also where a missing map key is
 * not.
 */
export class StructValue {
  readonly fields: ReadonlyMap<string, Value>

  constructor(fields: Readonly<Record<string, Value>>) {
    this.fields = new Map(Object.entries(fields))
  }
}

export function isList(value: Value): value is readonly Value[] {
  return Array.isArray(value)
}

export function isMap(value: Value): value is ReadonlyMap<string, Value> {
  return value instanceof Map
}

/** Reports the truth of a value: empty and zero values are false; a struct is always true. */
export function isTrue(value: Value): boolean {
  if (value === undefined || value === null) return false
  if (isList(value)) return value.length > 0
  if (isMap(value)) return value.size > 0
  if (value instanceof StructValue) return true
  return typeof value === 'bigint' ? value !== 0n : Boolean(value)
}

export function typeNameOf(value: Value): string {
  if (value === undefined || value === null) return 'nil'
  if (isList(value)) return 'slice'
  if (isMap(value)) return 'map'
  if (value instanceof StructValue) return 'struct'
  if (typeof value === 'bigint') return 'int'
  if (typeof value === 'number') return 'float64'
  return typeof value === 'string' ? 'string' : 'bool'
}

const NO_FLAGS: Flags = { plus: false, minus: false, sharp: false, space: false, zero: false }

/** Formats a value as an action prints it. */
export function printValue(value: Value, isInside = false): string {
  if (value === undefined) return isInside ? '<nil>' : '<no value>'
  if (value === null) return '<nil>'
  if (isList(value)) return `[${value.map((item) => printValue(item, true)).join(' ')}]`
  if (isMap(value)) {
    const entries = sortedEntries(value).map(([key, item]) => `${key}:${printValue(item, true)}`)
    return `map[${entries.join(' ')}]`
  }
  if (value instanceof StructValue) {
    return `{${[...value.fields.values()].map((item) => printValue(item, true)).join(' ')}}`
  }
  if (typeof value === 'number') {
    return formatArgument({ ...NO_FLAGS }, 'v', { type: 'float64', value })
  }
  return String(value)
}

/** Returns map entries sorted by key, so that equal data renders equal text. */
export function sortedEntries(
  map: ReadonlyMap<string, Value>,
): readonly (readonly [string, Value])[] {
  return [...map].toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
}

/** Converts the output of JSON and YAML parsers. JSON numbers are never whole numbers here. */
export function fromPlain(value: unknown, wholeNumbers = false): Value {
  if (value === null || value === undefined) return null
  if (typeof value === 'number') {
    return wholeNumbers && Number.isSafeInteger(value) ? BigInt(value) : value
  }
  if (typeof value === 'string' || typeof value === 'boolean' || typeof value === 'bigint') {
    return value
  }
  if (Array.isArray(value)) return value.map((item: unknown) => fromPlain(item, wholeNumbers))
  if (value instanceof Map) {
    return new Map(
      [...value].map(([key, item]) => [String(key), fromPlain(item, wholeNumbers)] as const),
    )
  }
  if (typeof value === 'object') {
    const entries = Object.entries(value)
    return new Map(entries.map(([key, item]) => [key, fromPlain(item, wholeNumbers)] as const))
  }
  return null
}

/** Converts to plain data for JSON and YAML encoders, with sorted keys. */
export function toPlain(value: Value): YamlValue {
  if (value === undefined) return null
  if (isList(value)) return value.map(toPlain)
  if (isMap(value)) {
    return Object.fromEntries(sortedEntries(value).map(([key, item]) => [key, toPlain(item)]))
  }
  if (value instanceof StructValue) {
    return Object.fromEntries([...value.fields].map(([key, item]) => [key, toPlain(item)]))
  }
  if (typeof value !== 'bigint') return value
  return Number(value)
}
