import { NESTING_DEPTH_MAX } from '../limits.ts'
import { report, type DiagnosticCollector } from '../text/diagnostic.ts'
import type { Source, Span } from '../text/source.ts'
import { describeToken, type Token, type TokenKind } from './token.ts'
import type { Expression } from './ast.ts'

/**
 * The parser's position in the tokens. Parsing functions return undefined after reporting an error.
 */
export interface Cursor {
  readonly source: Source
  readonly tokens: readonly Token[]
  readonly problems: DiagnosticCollector
  index: number
  /**
   * Line breaks separate items in bodies and objects; inside other brackets they are whitespace.
   */
  seesNewlines: boolean
  depth: number
  /**
   * Parses any expression. A field, because collections and templates contain expressions and
   * direct imports would be cyclic.
   */
  readonly parseExpression: (cursor: Cursor) => Expression | undefined
  /**
   * Recovery skipped lines inside brackets that may never have been closed, so unclosed blocks at
   * the end of the text are not reported.
   */
  isRecovering: boolean
  /** A block whose closing brace belongs, by its indentation, to an outer block. */
  suspect: MisplacedBrace | undefined
}

export interface MisplacedBrace {
  readonly open: Token
  readonly close: Token
}

type CursorStart = Pick<Cursor, 'source' | 'tokens' | 'problems' | 'parseExpression'>

export function makeCursor(start: CursorStart): Cursor {
  return {
    ...start,
    index: 0,
    seesNewlines: true,
    depth: 0,
    isRecovering: false,
    suspect: undefined,
  }
}

/** The next token. The last token is always `end` and is never consumed. */
export function peek(cursor: Cursor): Token {
  if (!cursor.seesNewlines) while (tokenAt(cursor, 0).kind === 'newline') cursor.index++
  return tokenAt(cursor, 0)
}

/** The token `ahead` positions after the next one, counting line breaks. */
export function tokenAt(cursor: Cursor, ahead: number): Token {
  const { tokens, source } = cursor
  const end = source.text.length
  return tokens[cursor.index + ahead] ?? { kind: 'end', start: end, end }
}

export function take(cursor: Cursor): Token {
  const token = peek(cursor)
  if (token.kind !== 'end') cursor.index++
  return token
}

/** Consumes the next token if it is of this kind. */
export function takeIf(cursor: Cursor, kind: TokenKind): Token | undefined {
  return peek(cursor).kind === kind ? take(cursor) : undefined
}

export function skipNewlines(cursor: Cursor): void {
  while (tokenAt(cursor, 0).kind === 'newline') cursor.index++
}

export function tokenText(cursor: Cursor, token: Token): string {
  return cursor.source.text.slice(token.start, token.end)
}

/** Whether the next token is this word. Keywords are only reserved where they are expected. */
export function isWord(cursor: Cursor, word: string): boolean {
  const token = peek(cursor)
  return token.kind === 'identifier' && tokenText(cursor, token) === word
}

export function spanFrom(cursor: Cursor, start: number): Span {
  const last = cursor.tokens[cursor.index - 1]
  return { source: cursor.source, start, end: Math.max(start, last?.end ?? start) }
}

/** Reports an error at the next token. `{found}` in the detail is replaced by its description. */
export function reportNext(cursor: Cursor, summary: string, detail: string): undefined {
  const token = peek(cursor)
  const found = describeToken(cursor.source, token)
  // A line break is shown as a position, not as a range into the next line.
  const end = token.kind === 'newline' ? token.start : token.end
  const span = { source: cursor.source, start: token.start, end }
  return report(cursor.problems, { span, summary, detail: detail.replace('{found}', () => found) })
}

/**
 * Enters a nesting level; false if there are too many. Every success is followed by `leaveLevel`.
 */
export function enter(cursor: Cursor): boolean {
  if (cursor.depth >= NESTING_DEPTH_MAX) {
    const detail = `Expressions and blocks may be at most ${NESTING_DEPTH_MAX} levels deep.`
    reportNext(cursor, 'Nested too deeply', detail)
    return false
  }
  cursor.depth++
  return true
}

export function leave(cursor: Cursor): void {
  cursor.depth--
}

/** Runs a parsing function with or without significant line breaks, then restores the setting. */
export function withNewlines<T>(cursor: Cursor, seesNewlines: boolean, parse: () => T): T {
  const before = cursor.seesNewlines
  cursor.seesNewlines = seesNewlines
  const result = parse()
  cursor.seesNewlines = before
  return result
}

const OPENING: ReadonlySet<TokenKind> = new Set<TokenKind>([
  '{',
  '[',
  '(',
  'quote-open',
  'heredoc-open',
  'interpolation-open',
  'directive-open',
])
const CLOSING: ReadonlySet<TokenKind> = new Set<TokenKind>([
  '}',
  ']',
  ')',
  'quote-close',
  'heredoc-close',
  'sequence-close',
])

/**
 * Recovers from an error inside an item of a body: skips to the first line break outside all
 * brackets opened since its first token, or to the closing brace of the body. Every token is
 * skipped at most twice.
 */
export function skipItem(cursor: Cursor, firstIndex: number): void {
  // Unclosed brackets at the end of the text are unclosed from every start: going back would skip
  // everything again for each outer block.
  if (tokenAt(cursor, 0).kind === 'end') {
    cursor.isRecovering = true
    return
  }
  cursor.index = firstIndex
  let openCount = 0
  for (; ; cursor.index++) {
    const { kind } = tokenAt(cursor, 0)
    if (kind === 'end') {
      cursor.isRecovering = true
      return
    }
    if (openCount === 0 && cursor.index > firstIndex && (kind === 'newline' || kind === '}')) return
    if (kind === 'newline') cursor.isRecovering = true
    if (OPENING.has(kind)) openCount++
    else if (CLOSING.has(kind)) openCount = Math.max(0, openCount - 1)
  }
}
