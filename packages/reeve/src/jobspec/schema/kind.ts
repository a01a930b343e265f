import { parseDurationNs } from '@reeve/kit/duration.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  BOOL,
  isList,
  isNumber,
  isObject,
  listOf,
  mapOf,
  NUMBER,
  quoteText,
  STRING,
  type AttributeSchema,
  type Value,
} from '@reeve/hcl'
import { DURATION_NS_MAX } from '../limits.ts'

/** The kind of an attribute's value. Null leaves it unset, except for a duration. */
export type ArgumentKind = keyof typeof ATTRIBUTE_KINDS

/** How each kind is converted (numbers from strings, durations, sizes). */
export const ATTRIBUTE_KINDS = {
  text: { type: STRING },
  int: { type: NUMBER, read: readInteger },
  bool: { type: BOOL },
  duration: { read: readDuration },
  texts: { type: listOf(STRING), read: withoutNulls },
  /** May also be written as a block: `meta { … }`. */
  textMap: { type: mapOf(STRING), read: withoutNulls },
  /** May also be written as a block: `header { … }`. */
  textsMap: { type: mapOf(listOf(STRING)), read: withoutNulls },
} as const satisfies Readonly<Record<string, AttributeSchema>>

/** For kinds that may be written as a block: the schema of its attributes. */
export const MAP_MEMBERS: Readonly<Partial<Record<ArgumentKind, AttributeSchema>>> = {
  textMap: { type: STRING, read: withoutNulls, isRequired: true },
  textsMap: { type: listOf(STRING), read: withoutNulls, isRequired: true },
}

function readInteger(value: Value): Result<Value, string> {
  if (value === null || Number.isSafeInteger(value)) return ok(value)
  return err(typeof value === 'bigint' ? 'the number is too large' : 'a whole number is required')
}

/** Parses text such as `1h30m`; a bare number means nanoseconds. */
function readDuration(value: Value): Result<Value, string> {
  if (value === null) return err('it must not be null')
  const ns = typeof value === 'string' ? parseDurationNs(value) : integerNanoseconds(value)
  if (ns === undefined) {
    const found = typeof value === 'string' ? `, but ${quoteText(value)} is not one` : ''
    return err(`a duration like "90s" or "1h30m" is required${found}`)
  }
  if (Math.abs(ns) > DURATION_NS_MAX) return err('the duration is too long')
  // Normalizes negative zero.
  return ok(ns === 0 ? 0 : ns)
}

function integerNanoseconds(value: Value): number | undefined {
  if (!isNumber(value)) return undefined
  const ns = Number(value)
  return Number.isInteger(ns) ? ns : undefined
}

function withoutNulls(value: Value): Result<Value, string> {
  if (!isList(value) && !isObject(value)) return ok(value)
  for (const [key, member] of Object.entries(value)) {
    const place = isList(value) ? `element ${key}` : `attribute ${quoteText(key)}`
    if (member === null) return err(`${place}: it must not be null`)
    const inner = withoutNulls(member)
    if (!inner.ok) return err(`${place}: ${inner.error}`)
  }
  return ok(value)
}
