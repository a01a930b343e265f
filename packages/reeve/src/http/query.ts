import { parseDurationMs } from '@reeve/kit/duration.ts'
import type { JsonSchema } from './decode.ts'
import { decodePageToken } from './list-page.ts'

/** A query parameter that cannot be parsed. Answered with 400 and this text. */
export class QueryError extends Error {}

export type RawQuery = Readonly<Record<string, string | readonly string[] | undefined>>
type QueryValue = string | number | boolean | readonly string[]

/** Parses one parameter; undefined keeps its default. */
type ParameterParser = (text: string, name: string) => QueryValue | undefined

interface QuerySchema {
  readonly properties: Readonly<Record<string, JsonSchema & { readonly 'x-parse'?: string }>>
}

/** Parameters with error messages of their own, checked in this order before the others. */
const PARSERS: Readonly<Record<string, ParameterParser>> = {
  stale: (text) =>
    text === '' || parseBool(text, 'Expect `true` or `false` for `stale` query string parameter'),
  per_page: (text) =>
    text === ''
      ? undefined
      : parseWhole(text, 'Expect a number for `per_page` query string parameter', true),
  next_token: decodePageToken,
  wait: (text) => parseWait(text, 'Invalid wait time'),
  index: (text) => (text === '' ? undefined : parseIndex(text, 'Invalid index')),
  pretty: (text) => text !== '0',
  // Accepted in any form for older clients, and without effect on a single server.
  consistent: (text) => text === '' || (BOOLS.get(text) ?? false),
  // Only `true` sets it, unlike the other flags.
  reverse: (text) => text === 'true',
  diff_version: (text, name) =>
    text === '' ? undefined : parseWhole(text, syntaxError(text, name, ['uint64', 'ParseUint'])),
  version: (text) => parseWhole(text, 'Unable to parse job submission version parameter'),
  offset: (text) => parseWhole(text, `error parsing offset: ${parseError(text, 'ParseInt')}`, true),
  limit: (text) => parseWhole(text, `error parsing limit: ${parseError(text, 'ParseInt')}`, true),
  follow: (text) =>
    text === ''
      ? undefined
      : parseBool(
          text,
          `failed to parse follow field to boolean: ${parseError(text, 'ParseBool')}`,
        ),
}

/**
 * Compiles the query of a route, which parses texts to the types its schema declares. Unknown
 * parameters are ignored.
 */
export function compileV1Query(schema: QuerySchema | undefined): (raw: RawQuery) => object {
  const readers = Object.entries(schema?.properties ?? {})
    .map(([name, property]) => ({ name, read: PARSERS[name] ?? parserOf(property), property }))
    .toSorted((a, b) => parseRank(a.name) - parseRank(b.name))
  return (raw) => {
    const parsed: Record<string, QueryValue> = {}
    for (const { name, read, property } of readers) {
      const given = raw[name]
      if (given === undefined) continue
      const value =
        property.type === 'array'
          ? [given].flat()
          : read(typeof given === 'string' ? given : (given[0] ?? ''), name)
      if (value !== undefined) parsed[name] = value
    }
    return parsed
  }
}

const PARSE_ORDER = Object.keys(PARSERS)

function parseRank(name: string): number {
  const at = PARSE_ORDER.indexOf(name)
  return at < 0 ? PARSE_ORDER.length : at
}

function parserOf(schema: JsonSchema & { readonly 'x-parse'?: string }): ParameterParser {
  if (schema.type === 'boolean') {
    if (schema['x-parse'] === 'lenient') return (text) => BOOLS.get(text) ?? false
    return (text, name) =>
      text === '' ? undefined : parseBool(text, syntaxError(text, name, ['bool', 'ParseBool']))
  }
  if (schema.type === 'integer')
    return (text, name) =>
      text === '' ? undefined : parseWhole(text, syntaxError(text, name, ['int', 'Atoi']), true)
  return (text) => text
}

/** Returns the value of a parameter: the first of several, and empty if there is none. */
export function firstValue(value: RawQuery[string]): string {
  return (typeof value === 'string' ? value : value?.[0]) ?? ''
}

/**
 * Reports whether a flag is given and not false. A value that is neither is rejected when the query
 * is decoded.
 */
export function isFlagSet(value: RawQuery[string]): boolean {
  if (value === undefined) return false
  const text = firstValue(value)
  return text === '' || BOOLS.get(text) === true
}

const BOOLS: ReadonlyMap<string, boolean> = new Map([
  ...['1', 't', 'T', 'TRUE', 'true', 'True'].map((text) => [text, true] as const),
  ...['0', 'f', 'F', 'FALSE', 'false', 'False'].map((text) => [text, false] as const),
])

function parseBool(text: string, message: string): boolean {
  const value = BOOLS.get(text)
  if (value === undefined) throw new QueryError(message)
  return value
}

function parseWait(text: string, message: string): string {
  if (text !== '' && parseDurationMs(text) === undefined) throw new QueryError(message)
  return text
}

function parseWhole(text: string, message: string, signed = false): number {
  const value = Number(text)
  const shape = signed ? /^[+-]?\d+$/ : /^\d+$/
  if (!shape.test(text) || !Number.isSafeInteger(value)) throw new QueryError(message)
  return value
}

const UINT64_MAX = 2n ** 64n - 1n

/**
 * Parses an unsigned 64-bit index. Indexes above 2^53 lose precision, which does not matter: none
 * is ever reached. The length is checked first because parsing thousands of digits takes
 * milliseconds.
 */
function parseIndex(text: string, message: string): number {
  if (!/^\d{1,20}$/.test(text) || BigInt(text) > UINT64_MAX) throw new QueryError(message)
  return Number(text)
}

function parseError(text: string, parser: string): string {
  return `strconv.${parser}: parsing "${text}": invalid syntax`
}

function syntaxError(text: string, name: string, [kind, parser]: [string, string]): string {
  return `Failed to parse value of "${name}" (${text}) as a ${kind}: ` + parseError(text, parser)
}
