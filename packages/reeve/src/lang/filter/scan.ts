import { err, type Err } from '@reeve/kit/result.ts'
import type { FilterError } from './ast.ts'
import { unescapeQuoted, unescapeRaw } from './quote.ts'

/**
 * A position in the text, and what was expected at the farthest position reached. The grammar tries
 * alternatives in order, so the farthest failure explains the error.
 */
export interface Cursor {
  readonly text: string
  at: number
  farthest: number
  readonly expected: Set<string>
  specificError: SpecificError | undefined
}

/** An error with a better message than a list of expected tokens. */
interface SpecificError {
  readonly at: number
  readonly what: string
}

export function createCursor(text: string): Cursor {
  return { text, at: 0, farthest: 0, expected: new Set(), specificError: undefined }
}

/** Runs an alternative. If it fails, the cursor returns to its position before. */
export function attempt<C extends Cursor, T>(
  cursor: C,
  parse: (cursor: C) => T | undefined,
): T | undefined {
  const start = cursor.at
  const result = parse(cursor)
  if (result === undefined) cursor.at = start
  return result
}

export function recordSpecificError(cursor: Cursor, what: string): void {
  if (cursor.specificError === undefined || cursor.at >= cursor.specificError.at)
    cursor.specificError = { at: cursor.at, what }
}

function expect(cursor: Cursor, what: string): void {
  if (cursor.at < cursor.farthest) return
  if (cursor.at > cursor.farthest) {
    cursor.farthest = cursor.at
    cursor.expected.clear()
  }
  cursor.expected.add(what)
}

export function take(cursor: Cursor, word: string): boolean {
  if (!cursor.text.startsWith(word, cursor.at)) {
    expect(cursor, JSON.stringify(word))
    return false
  }
  cursor.at += word.length
  return true
}

const SPACE = /[ \t\r\n]+/y

/** Accepts one or more spaces. */
export function takeSpace(cursor: Cursor): boolean {
  return takePattern(cursor, SPACE, '[ \\t\\r\\n]') !== undefined
}

/** Skips optional spaces. */
export function skipSpace(cursor: Cursor): void {
  takeSpace(cursor)
}

/** Accepts words with spaces before each of them. */
export function takePhrase(cursor: Cursor, words: readonly string[]): boolean {
  const start = cursor.at
  if (words.every((word) => takeSpace(cursor) && take(cursor, word))) return true
  cursor.at = start
  return false
}

export function takeEnd(cursor: Cursor): boolean {
  if (cursor.at === cursor.text.length) return true
  expect(cursor, 'EOF')
  return false
}

export function takePattern(cursor: Cursor, sticky: RegExp, what: string): string | undefined {
  sticky.lastIndex = cursor.at
  const match = sticky.exec(cursor.text)
  if (match === null) {
    expect(cursor, what)
    return undefined
  }
  cursor.at += match[0].length
  return match[0]
}

const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?/y
const AFTER_NUMBER = /[ \t\r\n)]/

/** Scans a number as written. The following space, parenthesis or end is not consumed. */
export function takeNumber(cursor: Cursor): string | undefined {
  const text = takePattern(cursor, NUMBER, '[0-9]')
  if (text === undefined) return undefined
  const next = cursor.text.charAt(cursor.at)
  if (next === '' || AFTER_NUMBER.test(next)) return text
  recordSpecificError(cursor, 'rule "number": Invalid number literal')
  return undefined
}

/**
 * Scans a quoted or raw string. Quotes cannot be escaped: the grammar ends the string at the first
 * one.
 */
export function takeString(cursor: Cursor): string | undefined {
  const isRaw = take(cursor, '`')
  if (!isRaw && !take(cursor, '"')) return undefined
  const end = cursor.text.indexOf(isRaw ? '`' : '"', cursor.at)
  if (end === -1) {
    cursor.at = cursor.text.length
    recordSpecificError(cursor, 'rule "string": Unterminated string literal')
    return undefined
  }
  const inner = cursor.text.slice(cursor.at, end)
  const value = isRaw ? unescapeRaw(inner) : unescapeQuoted(inner)
  if (value === undefined) recordSpecificError(cursor, 'rule "string": invalid syntax')
  cursor.at = end + 1
  return value
}

/** The syntax error of a text: `1:5 (4): no match found, expected: …`. */
export function syntaxError(cursor: Cursor): Err<FilterError> {
  const { specificError, farthest } = cursor
  if (specificError !== undefined && specificError.at >= farthest)
    return syntaxErrorAt(cursor.text, specificError.at, specificError.what)
  const expected = [...cursor.expected].toSorted()
  const last = expected.pop() ?? 'nothing'
  const list = expected.length === 0 ? last : `${expected.join(', ')} or ${last}`
  return syntaxErrorAt(cursor.text, farthest, `no match found, expected: ${list}`)
}

/** `line:column (offset)`: columns count characters, the offset counts UTF-8 bytes. */
export function syntaxErrorAt(text: string, at: number, what: string): Err<FilterError> {
  let line = 1
  let column = 1
  let offset = 0
  for (const character of text.slice(0, at)) {
    offset += utf8Length(character.codePointAt(0) ?? 0)
    column += 1
    if (character !== '\n') continue
    line += 1
    column = 1
  }
  return err({ code: 'filter-invalid', message: `${line}:${column} (${offset}): ${what}` })
}

function utf8Length(codePoint: number): number {
  return codePoint < 0x80 ? 1 : codePoint < 0x800 ? 2 : codePoint < 0x10000 ? 3 : 4
}
