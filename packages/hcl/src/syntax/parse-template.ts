import { report } from '../text/diagnostic.ts'
import { quoteText } from '../text/suggest.ts'
import { textOf } from '../text/source.ts'
import {
  enter,
  isWord,
  leave,
  peek,
  reportNext,
  spanFrom,
  take,
  takeIf,
  tokenText,
  withNewlines,
  type Cursor,
} from './cursor.ts'
import { parseForBinding } from './parse-collection.ts'
import { decodeQuotedText, decodeTemplateText } from './string-literal.ts'
import { buildTemplate, applyStripMarkers, type Piece } from './strip-markers.ts'
import { spanOfToken, type Token, type TokenKind } from './token.ts'
import type { Expression, ForBinding, Label } from './ast.ts'

/** Parses a quoted template with escapes and sequences. */
export function parseQuoted(cursor: Cursor): Expression | undefined {
  return parseTemplateBetween(cursor, { end: 'quote-close', isQuoted: true, isIndented: false })
}

/** Parses a heredoc: no escapes; `<<-` removes the common indentation. */
export function parseHeredoc(cursor: Cursor): Expression | undefined {
  const isIndented = tokenText(cursor, peek(cursor)).startsWith('<<-')
  return parseTemplateBetween(cursor, { end: 'heredoc-close', isQuoted: false, isIndented })
}

/** Parses a text that is a template as a whole, from its first token. */
export function parseBareTemplate(cursor: Cursor): Expression | undefined {
  const shape: Shape = { end: 'end', isQuoted: false, isIndented: false }
  const pieces = parsePieces(cursor, shape, peek(cursor))
  if (pieces === undefined) return undefined
  const span = { source: cursor.source, start: 0, end: cursor.source.text.length }
  return buildTemplate(applyStripMarkers(pieces, shape), span, cursor.problems)
}

/** Parses a quoted string that must not contain sequences. */
export function parsePlainQuoted(cursor: Cursor, what: string): Label | undefined {
  const open = take(cursor)
  let text = ''
  for (;;) {
    const token = peek(cursor)
    const span = spanOfToken(cursor.source, token)
    if (token.kind === 'text') text += decodeQuotedText(span, cursor.problems)
    else if (token.kind === 'quote-close') break
    else return reportNext(cursor, 'Invalid string', `${what} may not contain {found}.`)
    take(cursor)
  }
  take(cursor)
  return { text, span: spanFrom(cursor, open.start) }
}

interface Shape {
  readonly end: TokenKind
  readonly isQuoted: boolean
  readonly isIndented: boolean
}

function parseTemplateBetween(cursor: Cursor, shape: Shape): Expression | undefined {
  const open = take(cursor)
  if (!enter(cursor)) return undefined
  const pieces = parsePieces(cursor, shape, open)
  leave(cursor)
  if (pieces === undefined) return undefined
  take(cursor)
  const span = spanFrom(cursor, open.start)
  return buildTemplate(applyStripMarkers(pieces, shape), span, cursor.problems)
}

/**
 * Parses up to the closing token, which is not consumed. Open directives count as nesting levels,
 * because their contents are evaluated inside them.
 */
function parsePieces(cursor: Cursor, shape: Shape, open: Token): readonly Piece[] | undefined {
  const pieces: Piece[] = []
  const depthBefore = cursor.depth
  let isAtLineStart = true
  for (;;) {
    const token = peek(cursor)
    if (token.kind === shape.end) {
      cursor.depth = depthBefore
      return pieces
    }
    const piece: Piece | undefined =
      token.kind === 'text' ? parseText(cursor, shape, isAtLineStart) : parseSequence(cursor, open)
    if (piece === undefined || !countLevel(cursor, piece, depthBefore)) {
      cursor.depth = depthBefore
      return undefined
    }
    isAtLineStart = piece.kind === 'text' && textOf(piece.span).endsWith('\n')
    pieces.push(piece)
  }
}

function countLevel(cursor: Cursor, piece: Piece, depthBefore: number): boolean {
  if (piece.kind === 'if' || piece.kind === 'for') return enter(cursor)
  const isEnd = piece.kind === 'endif' || piece.kind === 'endfor'
  if (isEnd && cursor.depth > depthBefore) leave(cursor)
  return true
}

function parseText(cursor: Cursor, shape: Shape, isAtLineStart: boolean): Piece {
  const span = spanOfToken(cursor.source, take(cursor))
  const text = shape.isQuoted ? decodeQuotedText(span, cursor.problems) : decodeTemplateText(span)
  return { kind: 'text', text, span, isAtLineStart }
}

function parseSequence(cursor: Cursor, templateOpen: Token): Piece | undefined {
  const { kind } = peek(cursor)
  if (kind === 'interpolation-open')
    return withNewlines(cursor, false, () => parseInterpolation(cursor))
  if (kind === 'directive-open') return withNewlines(cursor, false, () => parseDirective(cursor))
  return reportUnterminated(cursor, templateOpen)
}

function reportUnterminated(cursor: Cursor, open: Token): undefined {
  cursor.isRecovering = true
  const isHeredoc = open.kind === 'heredoc-open'
  const detail = isHeredoc
    ? `There is no line after this one that has ${quoteText(markerOf(cursor, open))} and nothing else.`
    : 'The closing quote of this string was not found before the end of the text.'
  const summary = isHeredoc ? 'Unterminated heredoc' : 'Unterminated string'
  const end = isHeredoc ? tokenText(cursor, open).trimEnd().length + open.start : open.end
  const span = { source: cursor.source, start: open.start, end }
  return report(cursor.problems, { span, summary, detail })
}

function markerOf(cursor: Cursor, open: Token): string {
  return tokenText(cursor, open).trimEnd().replace(/^<<-?/, '')
}

function parseInterpolation(cursor: Cursor): Piece | undefined {
  const open = take(cursor)
  const expression = cursor.parseExpression(cursor)
  if (expression === undefined) return undefined
  const strips = closeSequence(cursor, open)
  if (strips === undefined) return undefined
  return { kind: 'interpolation', expression, ...strips, span: spanFrom(cursor, open.start) }
}

interface Strips {
  readonly stripsBefore: boolean
  readonly stripsAfter: boolean
}

function closeSequence(cursor: Cursor, open: Token): Strips | undefined {
  const close = takeIf(cursor, 'sequence-close')
  if (close !== undefined) {
    return {
      stripsBefore: open.end - open.start === 3,
      stripsAfter: close.end - close.start === 2,
    }
  }
  if (peek(cursor).kind === 'end') {
    cursor.isRecovering = true
    const detail = 'There is no closing brace for this sequence before the end of the text.'
    const span = spanOfToken(cursor.source, open)
    return report(cursor.problems, { span, summary: 'Unclosed template sequence', detail })
  }
  const escaped = open.kind === 'interpolation-open' ? '$${' : '%%{'
  const detail = `Expected "}" to end the template sequence, but found {found}. Write "${escaped}" if the sequence is text for another language.`
  return reportNext(cursor, 'Extra characters in template sequence', detail)
}

function parseDirective(cursor: Cursor): Piece | undefined {
  const open = take(cursor)
  const directive = parseDirectiveWord(cursor)
  if (directive === undefined) return undefined
  const strips = closeSequence(cursor, open)
  if (strips === undefined) return undefined
  return { ...directive, ...strips, span: spanFrom(cursor, open.start) }
}

type Directive =
  | { readonly kind: 'if'; readonly condition: Expression }
  | { readonly kind: 'for'; readonly binding: ForBinding }
  | { readonly kind: 'else' | 'endif' | 'endfor' }

function parseDirectiveWord(cursor: Cursor): Directive | undefined {
  if (isWord(cursor, 'for')) {
    const binding = parseForBinding(cursor)
    return binding === undefined ? undefined : { kind: 'for', binding }
  }
  if (isWord(cursor, 'if')) {
    take(cursor)
    const condition = cursor.parseExpression(cursor)
    return condition === undefined ? undefined : { kind: 'if', condition }
  }
  for (const kind of ['else', 'endif', 'endfor'] as const) {
    if (!isWord(cursor, kind)) continue
    take(cursor)
    return { kind }
  }
  const detail =
    'A directive is one of if, else, endif, for and endfor, but found {found}. Write "%%{" if the sequence is text for another language.'
  return reportNext(cursor, 'Invalid template directive', detail)
}
