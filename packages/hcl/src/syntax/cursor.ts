import { NESTING_DEPTH_MAX } from '../limits.ts'
import { report, type Problems } from '../text/diagnostic.ts'
import type { Source, Span } from '../text/source.ts'
import { describeToken, type Token, type TokenKind } from './token.ts'
import type { Expression } from './tree.ts'

/**
 * The place of the parser in the tokens. Parsing functions give nothing after they have reported a
 * problem.
 */
export interface Cursor {
  readonly source: Source
  readonly tokens: readonly Token[]
  readonly problems: Problems
  index: number
  /** Line ends separate items in bodies and objects; between other brackets they are blanks. */
  seesNewlines: boolean
  depth: number
  /**
   * Collections and templates hold expressions and the reverse; this closes the loop without a
   * cycle of imports.
   */
  readonly parseExpression: (cursor: Cursor) => Expression | undefined
  /**
   * Recovery ran over lines between brackets that may never have been closed, so blocks found open
   * at the end of the text say nothing new.
   */
  isLost: boolean
  /** A block that is closed by a brace which, by its indentation, belongs to one around it. */
  suspect: Suspect | undefined
}

export interface Suspect {
  readonly open: Token
  readonly close: Token
}

type CursorStart = Pick<Cursor, 'source' | 'tokens' | 'problems' | 'parseExpression'>

export function makeCursor(start: CursorStart): Cursor {
  return { ...start, index: 0, seesNewlines: true, depth: 0, isLost: false, suspect: undefined }
}

/** The next token. The last one is always `end` and is never passed. */
export function peek(cursor: Cursor): Token {
  if (!cursor.seesNewlines) while (tokenAt(cursor, 0).kind === 'newline') cursor.index++
  return tokenAt(cursor, 0)
}

/** The token some places after the next one, line ends included. */
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

/** Takes the token if it is of this kind. */
export function takeIf(cursor: Cursor, kind: TokenKind): Token | undefined {
  return peek(cursor).kind === kind ? take(cursor) : undefined
}

export function skipNewlines(cursor: Cursor): void {
  while (tokenAt(cursor, 0).kind === 'newline') cursor.index++
}

export function tokenText(cursor: Cursor, token: Token): string {
  return cursor.source.text.slice(token.start, token.end)
}

/** True when the next token is this word, which is a keyword only where it is expected. */
export function isWord(cursor: Cursor, word: string): boolean {
  const token = peek(cursor)
  return token.kind === 'identifier' && tokenText(cursor, token) === word
}

export function spanFrom(cursor: Cursor, start: number): Span {
  const last = cursor.tokens[cursor.index - 1]
  return { source: cursor.source, start, end: Math.max(start, last?.end ?? start) }
}

/** Reports at the next token; `{found}` in the detail is replaced by what it is. */
export function reportNext(cursor: Cursor, summary: string, detail: string): undefined {
  const token = peek(cursor)
  const found = describeToken(cursor.source, token)
  // A line end is shown as a place, not as a range that reaches into the next line.
  const end = token.kind === 'newline' ? token.start : token.end
  const span = { source: cursor.source, start: token.start, end }
  return report(cursor.problems, { span, summary, detail: detail.replace('{found}', () => found) })
}

/**
 * Counts one level of nesting; false when there are too many. Every success is followed by `leave`.
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

/** Runs a parsing function with line ends visible or not, and restores what was. */
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
 * After a problem in an item of a body: goes to the end of the item, which is the first line end
 * outside all brackets opened since its first token, or the closing brace of the body. Every token
 * is passed at most twice.
 */
export function skipItem(cursor: Cursor, firstIndex: number): void {
  // What is open at the end of the text is open wherever one begins to skip: going back would pass
  // everything once for each block around it.
  if (tokenAt(cursor, 0).kind === 'end') {
    cursor.isLost = true
    return
  }
  cursor.index = firstIndex
  let openCount = 0
  for (; ; cursor.index++) {
    const { kind } = tokenAt(cursor, 0)
    if (kind === 'end') {
      cursor.isLost = true
      return
    }
    if (openCount === 0 && cursor.index > firstIndex && (kind === 'newline' || kind === '}')) return
    if (kind === 'newline') cursor.isLost = true
    if (OPENING.has(kind)) openCount++
    else if (CLOSING.has(kind)) openCount = Math.max(0, openCount - 1)
  }
}
