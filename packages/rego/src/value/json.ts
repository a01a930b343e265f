import { EMBEDDED_JSON_MEMORY_BYTES_MAX, exactJsonMemoryBytes } from '@reeve/kit/json.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { RESULT_NODES_MAX, STRING_LENGTH_MAX, VALUE_DEPTH_MAX } from '../limits.ts'
import { LimitExceeded, withFuel } from './fuel.ts'
import {
  BigNumber,
  fromBigInt,
  fromDouble,
  numberText,
  parseNumber,
  toBigInt,
  toDouble,
} from './number.ts'
import { compareStrings, isArray, isNumber, ObjectBuilder, type Value } from './value.ts'

/** Plain data, as `JSON.parse` and the readers of other formats give it. */
export type JsonValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | undefined
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue }

/** Properties that are undefined are left out, as in JSON. */
export function fromJson(plain: JsonValue, depth = 0): Value {
  if (depth > VALUE_DEPTH_MAX) throw new LimitExceeded('the value is nested too deeply')
  switch (typeof plain) {
    case 'number':
      return fromDouble(plain) ?? null
    case 'bigint':
      return fromBigInt(plain) ?? null
    case 'object': {
      if (plain === null) return null
      if (isPlainList(plain)) return plain.map((item) => fromJson(item, depth + 1))
      const builder = new ObjectBuilder()
      for (const [name, item] of Object.entries(plain))
        if (item !== undefined) builder.set(name, fromJson(item, depth + 1))
      return builder.build()
    }
    case 'undefined':
      return null
    default:
      return plain
  }
}

function isPlainList(plain: JsonValue): plain is readonly JsonValue[] {
  return Array.isArray(plain)
}

/**
 * JSON text as a value, all digits of its numbers kept. The host's parser reads it; only a text
 * with a number that a double may not hold is read with the reviver, which is far slower.
 */
export function parseHclJson(given: string): Result<Value, string> {
  const text = given.includes('\\u') ? given.replace(ESCAPES, wellFormed) : given
  if (exactJsonMemoryBytes(text) > EMBEDDED_JSON_MEMORY_BYTES_MAX)
    return err('the JSON has too many values')
  try {
    if (!MAYBE_LONG_NUMBER.test(text)) return ok(fromJson(asPlain(JSON.parse(text))))
    return ok(readExact(text))
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof LimitExceeded) return err(error.message)
    if (error instanceof RangeError) return err('the value is nested too deeply')
    throw error
  }
}

/** Two escapes that are one character together, or one of anything. */
const ESCAPES = /\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)/g

/** Half a character is none. */
function wellFormed(escape: string): string {
  return /^\\u[dD][89a-fA-F]..$/.test(escape) ? '\\ufffd' : escape
}

const MAYBE_LONG_NUMBER = /[0-9.]{15}|[0-9][eE]/

function asPlain(parsed: unknown): JsonValue {
  // What `JSON.parse` gives without a reviver is plain data.
  return parsed as JsonValue
}

/** Numbers become texts behind a mark, so that their digits survive. */
function readExact(text: string): Value {
  const mark = '\uE000'
  const keep = (_: string, item: unknown, context?: { readonly source?: string }): unknown => {
    if (typeof item === 'number') return `${mark}n${context?.source ?? String(item)}`
    return typeof item === 'string' ? `${mark}s${item}` : item
  }
  return unmark(fromJson(asPlain(JSON.parse(text, keep))))
}

function unmark(value: Value): Value {
  if (typeof value === 'string') {
    if (value[1] === 's') return value.slice(2)
    return parseDigits(value.slice(2))
  }
  if (isArray(value)) return value.map(unmark)
  if (typeof value !== 'object' || value === null || !('kind' in value)) return value
  if (value.kind === 'set') return value
  const builder = new ObjectBuilder()
  for (const [key, item] of value.entries()) builder.set(key, unmark(item))
  return builder.build()
}

function parseDigits(text: string): Value {
  const number = parseNumber(text)
  if (number === undefined) throw new LimitExceeded('a number has too many digits')
  return number
}

/**
 * JSON text: sets are arrays in order, keys that are no strings are their own text, objects are in
 * the order of keys.
 */
export function toJsonString(value: Value): string {
  return withFuel(() => writeJson(value, { nodes: 0 }, 0))
}

function writeJson(value: Value, counter: { nodes: number }, depth: number): string {
  if (++counter.nodes > RESULT_NODES_MAX || depth > VALUE_DEPTH_MAX)
    throw new LimitExceeded('the value is too large')
  if (typeof value === 'string') return JSON.stringify(value)
  if (typeof value === 'number' || value instanceof BigNumber) return numberText(value)
  if (typeof value !== 'object' || value === null) return String(value)
  const inner = (item: Value) => writeJson(item, counter, depth + 1)
  if (isArray(value)) return `[${value.map(inner).join(',')}]`
  if (value.kind === 'set') return `[${value.sorted().map(inner).join(',')}]`
  const entries = value
    .entries()
    .map(
      ([key, item]) =>
        `${JSON.stringify(typeof key === 'string' ? key : inner(key))}:${inner(item)}`,
    )
  return `{${entries.join(',')}}`
}

/**
 * Plain data for callers: numbers that a double cannot hold exactly become doubles or bigints.
 * Shared parts become separate ones, so a small value can be far larger as plain data. Throws
 * LimitExceeded past `nodesMax` values.
 */
export function toJson(value: Value, nodesMax = RESULT_NODES_MAX): JsonValue {
  return withFuel(() => plainOf(value, { nodes: RESULT_NODES_MAX - nodesMax }, 0))
}

function plainOf(value: Value, counter: { nodes: number }, depth: number): JsonValue {
  if (++counter.nodes > RESULT_NODES_MAX || depth > VALUE_DEPTH_MAX)
    throw new LimitExceeded('the value is too large')
  if (value instanceof BigNumber) return toBigInt(value) ?? toDouble(value)
  if (typeof value !== 'object' || value === null) return value
  const inner = (item: Value) => plainOf(item, counter, depth + 1)
  if (isArray(value)) return value.map(inner)
  if (value.kind === 'set') return value.sorted().map(inner)
  return Object.fromEntries(
    value
      .entries()
      .map(([key, item]) => [
        typeof key === 'string' ? key : writeJson(key, counter, depth + 1),
        inner(item),
      ]),
  )
}

export interface JsonLayout {
  /** In front of every line but the first. */
  readonly prefix: string
  /** Once for every level. */
  readonly indent: string
}

/**
 * JSON text: sets become arrays, keys that are no strings become JSON text themselves. The signs of
 * HTML are escaped, as the other implementations of the language do.
 */
export function toHtmlSafeJsonString(value: Value, layout?: JsonLayout): string {
  return write(value, { depth: 0, left: STRING_LENGTH_MAX, layout })
}

interface Writer {
  depth: number
  left: number
  readonly layout: JsonLayout | undefined
}

function write(value: Value, writer: Writer): string {
  if (typeof value === 'string') return spend(writer, jsonString(value))
  if (isNumber(value)) return spend(writer, numberText(value))
  if (typeof value !== 'object' || value === null) return spend(writer, String(value))
  if (++writer.depth > VALUE_DEPTH_MAX) throw new LimitExceeded('a value is nested too deeply')
  const text =
    isArray(value) || value.kind === 'set'
      ? writeList(isArray(value) ? value : value.sorted(), writer)
      : writeObject(
          value.entries().map(([key, item]) => [keyText(key), item]),
          writer,
        )
  writer.depth--
  return text
}

function writeList(items: readonly Value[], writer: Writer): string {
  const parts = items.map((item) => write(item, writer))
  return enclose(['[', ']'], parts, writer)
}

function writeObject(entries: readonly (readonly [string, Value])[], writer: Writer): string {
  const space = writer.layout === undefined ? '' : ' '
  const parts = entries
    .toSorted(([a], [b]) => compareStrings(a, b))
    .map(([key, item]) => `${spend(writer, jsonString(key))}:${space}${write(item, writer)}`)
  return enclose(['{', '}'], parts, writer)
}

function enclose(
  [open, close]: readonly [string, string],
  parts: readonly string[],
  { layout, depth }: Writer,
): string {
  if (layout === undefined || parts.length === 0) return `${open}${parts.join(',')}${close}`
  const line = `\n${layout.prefix}${layout.indent.repeat(depth - 1)}`
  const inner = `${line}${layout.indent}`
  return `${open}${inner}${parts.join(`,${inner}`)}${line}${close}`
}

/** The name of a key in JSON. */
export function keyText(key: Value): string {
  return typeof key === 'string' ? key : toHtmlSafeJsonString(key)
}

/** Shared parts are written out at every use, so the text may be far larger than the value. */
function spend(writer: Writer, text: string): string {
  const { layout, depth } = writer
  writer.left -= text.length + 2
  if (layout !== undefined) writer.left -= layout.prefix.length + layout.indent.length * depth
  if (writer.left < 0) throw new LimitExceeded('a text is too long')
  return text
}

const SPECIAL = /[<>&\u2028\u2029]/g

export function jsonString(text: string): string {
  return JSON.stringify(text.toWellFormed()).replace(
    SPECIAL,
    (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
