import { report } from '../text/diagnostic.ts'
import { quoteText } from '../text/suggest.ts'
import { formatRange } from '../text/format.ts'
import { joinSpans, rangeOf, type Span } from '../text/source.ts'
import {
  enter,
  peek,
  reportNext,
  skipItem,
  skipNewlines,
  spanFrom,
  take,
  takeIf,
  tokenAt,
  tokenText,
  withNewlines,
  type Cursor,
  type MisplacedBrace,
} from './cursor.ts'
import { parsePlainQuoted } from './parse-template.ts'
import { spanOfToken, type Token, type TokenKind } from './token.ts'
import type { Attribute, Block, Body, Label } from './ast.ts'

interface Items {
  readonly attributes: Attribute[]
  readonly blocks: Block[]
}

/**
 * Parses items up to the end of the text or the closing brace, which is not consumed. Invalid items
 * are skipped.
 */
export function parseItems(cursor: Cursor, end: 'end' | '}'): Items {
  const items: Items = { attributes: [], blocks: [] }
  const seen = new Map<string, Span>()
  return withNewlines(cursor, true, () => {
    for (;;) {
      skipNewlines(cursor)
      const { kind } = peek(cursor)
      if (kind === end || kind === 'end') return items
      const firstIndex = cursor.index
      if (!parseItem(cursor, items, seen)) skipItem(cursor, firstIndex)
    }
  })
}

function parseItem(cursor: Cursor, items: Items, seen: Map<string, Span>): boolean {
  const name = takeIf(cursor, 'identifier')
  if (name === undefined) return reportNoItem(cursor)
  if (peek(cursor).kind !== '=') return addBlock(parseBlock(cursor, name), items)
  const attribute = parseAttribute(cursor, name)
  if (attribute === undefined) return false
  addAttribute(cursor, { attribute, items, seen })
  return expectLineEnd(cursor, 'An argument definition must end with a newline', adviceOn(cursor))
}

function reportNoItem(cursor: Cursor): false {
  const { kind } = peek(cursor)
  if (kind === 'quote-open') {
    const detail = `Names of arguments and types of blocks are written without quotes. A name that needs them ${AS_KEY}`
    reportNext(cursor, 'Invalid name', detail)
    return false
  }
  const detail =
    kind === '}'
      ? 'There is no open block that this brace could close: remove it, or one before it.'
      : 'Expected an argument ("name = value") or a block ("type {"), but found {found}.'
  reportNext(cursor, 'Argument or block definition required', detail)
  return false
}

const AS_KEY = 'can be the key of a map: name = { "key" = value }.'

function addBlock(block: Block | undefined, items: Items): boolean {
  if (block !== undefined) items.blocks.push(block)
  return block !== undefined
}

interface Addition {
  readonly attribute: Attribute
  readonly items: Items
  readonly seen: Map<string, Span>
}

function addAttribute(cursor: Cursor, { attribute, items, seen }: Addition): void {
  const { name, nameSpan } = attribute
  const earlier = seen.get(name)
  if (earlier === undefined) {
    seen.set(name, nameSpan)
    items.attributes.push(attribute)
    return
  }
  const detail = () =>
    `The argument ${quoteText(name)} was already set at ${formatRange(rangeOf(earlier))}. Each argument may be set only once.`
  report(cursor.problems, { span: nameSpan, summary: 'Attribute redefined', detail })
}

function parseAttribute(cursor: Cursor, name: Token): Attribute | undefined {
  take(cursor)
  const expression = cursor.parseExpression(cursor)
  if (expression === undefined) return undefined
  const nameSpan = spanOfToken(cursor.source, name)
  return {
    name: tokenText(cursor, name),
    nameSpan,
    expression,
    span: joinSpans(nameSpan, expression.span),
  }
}

/** The line break itself is consumed by the loop over the items. */
function expectLineEnd(cursor: Cursor, rule: string, advice = ''): boolean {
  const { kind } = peek(cursor)
  if (kind === 'newline' || kind === 'end') return true
  reportNext(cursor, 'Missing newline', `${rule}, but found {found}.${advice}`)
  return false
}

/** A hint on what may have been intended after a value; empty if that is unclear. */
function adviceOn(cursor: Cursor): string {
  const { kind } = peek(cursor)
  if (kind === ',') return ' Nothing separates the arguments of a block but newlines.'
  if (kind === '{') return ' A block is written without "=".'
  const isText = kind === 'identifier' && tokenAt(cursor, 1).kind === 'newline'
  return isText ? ' Text is enclosed in double quotes.' : ''
}

function parseBlock(cursor: Cursor, type: Token): Block | undefined {
  const labels: Label[] = []
  for (;;) {
    const { kind } = peek(cursor)
    if (kind === '{') break
    const label = kind === 'identifier' || kind === 'quote-open' ? parseLabel(cursor) : undefined
    if (label === undefined) return reportNoLabel(cursor, labels)
    labels.push(label)
  }
  const headerSpan = spanFrom(cursor, type.start)
  const body = parseNested(cursor, labels.length + 1, () => parseBlockBody(cursor, headerSpan))
  if (body === undefined) return undefined
  if (!expectLineEnd(cursor, 'A block definition must end with a newline')) return undefined
  return {
    type: tokenText(cursor, type),
    typeSpan: spanOfToken(cursor.source, type),
    labels,
    body,
    headerSpan,
  }
}

/** Each label is a nesting level: a reader without a schema creates an object for each. */
function parseNested<T>(cursor: Cursor, levels: number, parse: () => T): T | undefined {
  const depthBefore = cursor.depth
  let isEntered = true
  for (let level = 0; level < levels && isEntered; level++) isEntered = enter(cursor)
  const result = isEntered ? parse() : undefined
  cursor.depth = depthBefore
  return result
}

function parseLabel(cursor: Cursor): Label | undefined {
  if (peek(cursor).kind === 'quote-open') return parsePlainQuoted(cursor, 'A block label')
  const token = take(cursor)
  return { text: tokenText(cursor, token), span: spanOfToken(cursor.source, token) }
}

function reportNoLabel(cursor: Cursor, labels: readonly Label[]): undefined {
  const { kind } = peek(cursor)
  // An invalid quoted label is already reported.
  if (kind === 'text' || kind === 'interpolation-open' || kind === 'directive-open')
    return undefined
  const after = labels.length === 0 ? AFTER_NAME : AFTER_LABEL
  const detail =
    after[kind] ?? 'Expected a quoted label or "{" to begin the block, but found {found}.'
  return reportNext(cursor, 'Invalid block definition', detail)
}

type Advice = Partial<Record<TokenKind, string>>

const NO_LINE_END =
  'A block needs "{" and an argument needs "=" on the same line, but found {found}.'
const AFTER_NAME: Advice = {
  newline: NO_LINE_END,
  end: NO_LINE_END,
  ':': 'The value of an argument follows "=", but found {found}.',
  '.': `A name has no dots. One that needs them ${AS_KEY}`,
}
const NO_BRACE = 'The "{" of a block is on the same line as its type and labels, but found {found}.'
const AFTER_LABEL: Advice = {
  newline: NO_BRACE,
  end: NO_BRACE,
  '=': 'A block is written without "=": remove it.',
}

function parseBlockBody(cursor: Cursor, anchor: Span): Body | undefined {
  const open = take(cursor)
  const isOneLine = peek(cursor).kind !== 'newline'
  const items = isOneLine ? parseOneLineItems(cursor) : parseItems(cursor, '}')
  if (items === undefined) return undefined
  const close = takeIf(cursor, '}')
  if (close === undefined) return reportUnclosed(cursor, open)
  if (!isOneLine) compareIndentation(cursor, { open, close })
  return { syntax: 'native', ...items, anchor, span: spanFrom(cursor, open.start) }
}

/**
 * Parses `{ }` or `{ name = value }`. One line may have only one argument, because there is no
 * separator.
 */
function parseOneLineItems(cursor: Cursor): Items | undefined {
  const items: Items = { attributes: [], blocks: [] }
  const { kind } = peek(cursor)
  if (kind === '}' || kind === 'end') return items
  if (kind !== 'identifier' || tokenAt(cursor, 1).kind !== '=') {
    const detail =
      'A block on one line may hold one argument and no block. Put its items on lines of their own.'
    return reportNext(cursor, 'Invalid single-line block', detail)
  }
  const attribute = parseAttribute(cursor, take(cursor))
  if (attribute === undefined) return undefined
  items.attributes.push(attribute)
  const next = peek(cursor).kind
  if (next === '}' || next === 'end') return items
  const detail =
    'A block on one line may hold one argument and ends with "}" on that line, but found {found}. Put its items on lines of their own.'
  return reportNext(cursor, 'Invalid single-line block', detail)
}

/**
 * A missing closing brace is only noticed at the end of the text, where the first block is still
 * open. Indentation shows which block was intended: the first whose closing brace is indented less
 * than its own line. If an enclosing block is closed in the right column, the block was merely
 * badly indented.
 */
function compareIndentation(cursor: Cursor, { open, close }: MisplacedBrace): void {
  const opening = indentationAt(cursor, open)
  const closing = indentationAt(cursor, close)
  const isOnItsLine = closing.end === close.start
  if (isOnItsLine && closing.width < opening.width) cursor.suspect ??= { open, close }
  else if (closing.width === opening.width && open.start < (cursor.suspect?.open.start ?? 0))
    cursor.suspect = undefined
}

/** Indentation of a token's line, and where its first character is. */
function indentationAt(
  { source }: Cursor,
  { start }: Token,
): { readonly width: number; readonly end: number } {
  const { text } = source
  const lineStart = text.lastIndexOf('\n', start - 1) + 1
  let end = lineStart
  while (text[end] === ' ' || text[end] === '\t') end++
  return { width: end - lineStart, end }
}

function reportUnclosed(cursor: Cursor, open: Token): undefined {
  if (cursor.isRecovering) return undefined
  cursor.isRecovering = true
  const { source, suspect, problems } = cursor
  const isInside = suspect !== undefined && suspect.open.start > open.start
  const span = spanOfToken(source, isInside ? suspect.open : open)
  const detail = () =>
    isInside
      ? `There is no closing brace for this block: by its indentation, the one at ${formatRange(rangeOf(spanOfToken(source, suspect.close)))} closes a block around it.`
      : 'There is no closing brace for this block before the end of the text.'
  return report(problems, { span, summary: 'Unclosed block', detail })
}
