import { decodeBase64, encodeBase64 } from '@reeve/kit/base64.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { decodeUtf8, encodeUtf8 } from '@reeve/kit/utf8.ts'
import {
  type FunctionDefinition,
  isList,
  isNumber,
  isObject,
  makeObject,
  NESTING_DEPTH_MAX,
  numberToText,
  parseNumber,
  quoteText,
  sortedEntries,
  type Value,
} from '@reeve/hcl'
import { parseYaml, writeYaml } from '@reeve/kit/yaml/index.ts'
import { any, text } from './argument.ts'
import { define, chargeSteps, failArgument } from './define.ts'
import { STEPS_PER_DECODED_CHARACTER, STEPS_PER_YAML_CHARACTER } from './limits.ts'

const UNQUOTED_FIELD = /[^,\n]*/y

const WHITESPACE = /[ \t\r\n]*/y
const LITERAL = /true|false|null/y
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y
const LITERALS: Readonly<Record<string, Value>> = { true: true, false: false, null: null }

const SPECIAL = /[<>&\u2028\u2029]/g

export const encodingFunctions: Readonly<Record<string, FunctionDefinition>> = {
  base64decode: define([text('str')], ([str], meter) => {
    const paid = chargeSteps(meter, str.length * STEPS_PER_DECODED_CHARACTER)
    if (!paid.ok) return paid
    const bytes = decodeBase64(str)
    if (bytes === undefined) return failArgument(0, 'str is not valid base64')
    const decoded = decodeUtf8(bytes)
    return decoded === undefined
      ? failArgument(0, 'str holds bytes that are not UTF-8 text')
      : ok(decoded)
  }),
  base64encode: define([text('str')], ([str], meter) => {
    const paid = chargeSteps(meter, str.length * STEPS_PER_DECODED_CHARACTER)
    return paid.ok ? ok(encodeBase64(encodeUtf8(str))) : paid
  }),
  csvdecode: define([text('str')], ([str], meter) => {
    const paid = chargeSteps(meter, str.length * STEPS_PER_DECODED_CHARACTER)
    if (!paid.ok) return paid
    const rows = decodeCsv(str)
    return rows.ok ? rows : failArgument(0, `str is not valid CSV: ${rows.error}`)
  }),
  jsondecode: define([text('str')], ([str], meter) => {
    const paid = chargeSteps(meter, str.length * STEPS_PER_DECODED_CHARACTER)
    if (!paid.ok) return paid
    const value = parseJsonText(str)
    return value.ok ? value : failArgument(0, `str is not valid JSON: ${value.error}`)
  }),
  jsonencode: define([any('val')], ([value]) => ok(toJsonString(value))),
  urlencode: define([text('str')], ([str]) => ok(encodeForQuery(str))),
  yamldecode: define([text('src')], ([src], meter) => {
    const paid = chargeSteps(meter, src.length * STEPS_PER_YAML_CHARACTER)
    if (!paid.ok) return paid
    const value = parseYaml(src)
    return value.ok ? value : failArgument(0, `src is not valid YAML: ${value.error}`)
  }),
  yamlencode: define([any('value')], ([value]) => ok(writeYaml(value))),
}

/** Encodes for a URL query: a space becomes `+`; letters, digits and `-_.~` are unchanged. */
function encodeForQuery(str: string): string {
  return encodeURIComponent(str.toWellFormed())
    .replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll('%20', '+')
}

/**
 * Parses CSV (RFC 4180). The first line names the columns; every other line becomes an object of
 * strings.
 */
function decodeCsv(source: string): Result<readonly Value[], string> {
  const records = readRecords(source)
  if (!records.ok) return records
  const [header, ...rows] = records.value
  if (header === undefined) return err('the first line with the names of the columns is missing')
  const duplicate = header.fields.find((name, index) => header.fields.indexOf(name) !== index)
  if (duplicate !== undefined) return err(`the column ${quoteText(duplicate)} is named twice`)
  const values: Value[] = []
  for (const { line, fields } of rows) {
    if (fields.length !== header.fields.length)
      return err(`line ${line} has ${fields.length} fields instead of ${header.fields.length}`)
    const entries = header.fields.map((name, index): [string, Value] => [name, fields[index] ?? ''])
    values.push(makeObject(entries))
  }
  return ok(values)
}

interface CsvRow {
  readonly line: number
  readonly fields: readonly string[]
}

/** Skips empty lines. */
function readRecords(source: string): Result<readonly CsvRow[], string> {
  const csv = source.replaceAll('\r\n', '\n')
  const rows: CsvRow[] = []
  let line = 1
  for (let at = 0; at < csv.length;) {
    if (csv[at] === '\n') {
      at++
      line++
      continue
    }
    const row = readRecord(csv, at, line)
    if (!row.ok) return row
    rows.push({ line, fields: row.value.fields })
    line += row.value.lineCount
    at = row.value.end
  }
  return ok(rows)
}

interface ParsedRecord {
  readonly fields: readonly string[]
  readonly end: number
  readonly lineCount: number
}

function readRecord(csv: string, start: number, line: number): Result<ParsedRecord, string> {
  const fields: string[] = []
  let lineCount = 1
  for (let at = start; ; at++) {
    const field = csv[at] === '"' ? readQuoted(csv, at, line) : readUnquoted(csv, at, line)
    if (!field.ok) return field
    fields.push(field.value.text)
    lineCount += field.value.lineCount
    at = field.value.end
    if (csv[at] !== ',') return ok({ fields, end: at + 1, lineCount })
  }
}

interface CsvField {
  readonly text: string
  readonly end: number
  /** Number of line breaks inside. */
  readonly lineCount: number
}

function readUnquoted(csv: string, at: number, line: number): Result<CsvField, string> {
  UNQUOTED_FIELD.lastIndex = at
  const found = UNQUOTED_FIELD.exec(csv)?.[0] ?? ''
  if (found.includes('"')) return err(`line ${line} has a quote in a field that is not quoted`)
  return ok({ text: found, end: at + found.length, lineCount: 0 })
}

/** A doubled quote is an escaped quote. */
function readQuoted(csv: string, start: number, line: number): Result<CsvField, string> {
  let end = start + 1
  for (;;) {
    end = csv.indexOf('"', end)
    if (end < 0) return err(`line ${line} has a quoted field without its closing quote`)
    if (csv[end + 1] !== '"') break
    end += 2
  }
  const after = csv[end + 1]
  if (after !== undefined && after !== ',' && after !== '\n')
    return err(`line ${line} has text after the closing quote of a field`)
  const content = csv.slice(start + 1, end).replaceAll('""', '"')
  return ok({ text: content, end: end + 1, lineCount: content.split('\n').length - 1 })
}

/** Parses JSON with integers of any size. The last of duplicate names wins. */
export function parseJsonText(source: string): Result<Value, string> {
  const reader: Reader = { source, at: 0 }
  const value = readValue(reader, 0)
  if (!value.ok) return value
  skipWhitespace(reader)
  return reader.at < source.length ? expected(reader, 'the end of the text') : value
}

interface Reader {
  readonly source: string
  at: number
}

function readValue(reader: Reader, depth: number): Result<Value, string> {
  if (depth > NESTING_DEPTH_MAX)
    return err(`it is nested more than ${NESTING_DEPTH_MAX} levels deep`)
  skipWhitespace(reader)
  const first = reader.source[reader.at]
  if (first === '{') return readObject(reader, depth)
  if (first === '[') return readList(reader, depth)
  if (first === '"') return readString(reader)
  const word = take(reader, LITERAL)
  if (word !== undefined) return ok(LITERALS[word] ?? null)
  const digits = take(reader, NUMBER)
  if (digits === undefined) return expected(reader, 'a value')
  const number = parseNumber(digits)
  return number === undefined ? err('a number is out of range') : ok(number)
}

function readList(reader: Reader, depth: number): Result<Value, string> {
  const elements: Value[] = []
  reader.at++
  if (takePunctuation(reader, ']')) return ok(elements)
  do {
    const element = readValue(reader, depth + 1)
    if (!element.ok) return element
    elements.push(element.value)
  } while (takePunctuation(reader, ','))
  return takePunctuation(reader, ']') ? ok(elements) : expected(reader, '"," or "]"')
}

function readObject(reader: Reader, depth: number): Result<Value, string> {
  const entries: [string, Value][] = []
  reader.at++
  if (takePunctuation(reader, '}')) return ok({})
  do {
    skipWhitespace(reader)
    if (reader.source[reader.at] !== '"') return expected(reader, 'a name in double quotes')
    const name = readString(reader)
    if (!name.ok) return name
    if (!takePunctuation(reader, ':')) return expected(reader, '":"')
    const value = readValue(reader, depth + 1)
    if (!value.ok) return value
    entries.push([name.value, value.value])
  } while (takePunctuation(reader, ','))
  return takePunctuation(reader, '}') ? ok(makeObject(entries)) : expected(reader, '"," or "}"')
}

/** Finds the end of the string and lets `JSON.parse` decode it. */
function readString(reader: Reader): Result<string, string> {
  const start = reader.at
  let end = start
  do end = reader.source.indexOf('"', end + 1)
  while (end >= 0 && isEscaped(reader.source, end))
  if (end < 0) return expected(reader, 'the closing quote of this string')
  reader.at = end + 1
  try {
    return ok(String(JSON.parse(reader.source.slice(start, end + 1))))
  } catch (thrown) {
    if (!(thrown instanceof SyntaxError)) throw thrown
    reader.at = start
    return expected(reader, 'a string with valid escapes and without control characters')
  }
}

/** Whether an odd number of backslashes precedes the position. */
function isEscaped(source: string, at: number): boolean {
  let from = at
  while (source[from - 1] === '\\') from--
  return (at - from) % 2 === 1
}

function take(reader: Reader, pattern: RegExp): string | undefined {
  pattern.lastIndex = reader.at
  const match = pattern.exec(reader.source)
  if (match === null) return undefined
  reader.at = pattern.lastIndex
  return match[0]
}

function skipWhitespace(reader: Reader): void {
  take(reader, WHITESPACE)
}

function takePunctuation(reader: Reader, sign: string): boolean {
  skipWhitespace(reader)
  if (reader.source[reader.at] !== sign) return false
  reader.at++
  return true
}

function expected(reader: Reader, what: string): Result<never, string> {
  return err(`at offset ${reader.at} ${what} is expected`)
}

/**
 * Writes JSON with sorted names and exact numbers. Escapes HTML characters, and U+2028 and U+2029,
 * which some parsers treat as line breaks.
 */
export function toJsonString(value: Value): string {
  if (isNumber(value)) return numberToText(value)
  if (isList(value)) return `[${value.map(toJsonString).join(',')}]`
  if (!isObject(value)) return escape(JSON.stringify(value))
  const members = sortedEntries(value).map(
    ([name, one]) => `${escape(JSON.stringify(name))}:${toJsonString(one)}`,
  )
  return `{${members.join(',')}}`
}

function escape(content: string): string {
  return content.replace(SPECIAL, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
