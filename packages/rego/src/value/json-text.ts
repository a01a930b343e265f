import { STRING_LENGTH_MAX, VALUE_DEPTH_MAX } from '../limits.ts'
import { compareStrings, isArray, isNumber, type Value } from './value.ts'
import { LimitExceeded } from './limit-reached.ts'
import { numberText } from './number.ts'

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
