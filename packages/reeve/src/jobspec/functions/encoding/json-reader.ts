import { err, ok, type Result } from '@reeve/kit/result.ts'
import { makeObject, NESTING_DEPTH_MAX, parseNumber, type Value } from '@reeve/hcl'

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

const WHITESPACE = /[ \t\r\n]*/y
const LITERAL = /true|false|null/y
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y
const LITERALS: Readonly<Record<string, Value>> = { true: true, false: false, null: null }

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
