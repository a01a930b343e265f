import { fromBigInt, parseNumber, type NumberValue } from '@reeve/kit/number.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  createCollector,
  toSortedDiagnostics,
  type Diagnostic,
  report,
} from '../text/diagnostic.ts'
import { makeSource, type Span } from '../text/source.ts'
import { NESTING_DEPTH_MAX, SOURCE_LENGTH_MAX, TOKEN_COUNT_MAX } from '../limits.ts'
import {
  failNext,
  skipBlanks,
  spanTo,
  takeMatch,
  takeSign,
  type LegacyReader,
} from './hcl1-reader.ts'
import { readLegacyHeredoc, readLegacyString } from './hcl1-string.ts'
import { bodyAsObject } from './parse.ts'
import type { Attribute, Block, Body, Expression, Label } from './ast.ts'

/**
 * Parses a file in HCL 1 syntax: no expressions, `${…}` is text, keys may be quoted or repeated,
 * and several items may share a line. Stops at the first error.
 */
export function parseHcl1(text: string, file: string): Result<Body, readonly Diagnostic[]> {
  const source = makeSource(file, text)
  const at = text.startsWith('\uFEFF') ? 1 : 0
  const reader: LegacyReader = {
    source,
    text,
    problems: createCollector(),
    at,
    depth: 0,
    tokenCount: 0,
  }
  const body = readFile(reader)
  return body === undefined ? err(toSortedDiagnostics(reader.problems)) : ok(body)
}

function readFile(reader: LegacyReader): Body | undefined {
  const { source, text } = reader
  if (text.length > SOURCE_LENGTH_MAX)
    return failNext(
      reader,
      'Text too long',
      `A text may have at most ${SOURCE_LENGTH_MAX} characters.`,
    )
  const items = readItems(reader)
  if (items === undefined) return undefined
  if (reader.at < text.length)
    return failNext(
      reader,
      'Unexpected brace',
      'There is no open block that this brace could close.',
    )
  const span = { source, start: 0, end: text.length }
  return { syntax: 'legacy', ...items, span, anchor: { source, start: 0, end: 0 } }
}

interface Items {
  readonly attributes: Attribute[]
  readonly blocks: Block[]
}

/** Reads items up to the closing brace, which is not consumed, or the end of the text. */
function readItems(reader: LegacyReader): Items | undefined {
  const items: Items = { attributes: [], blocks: [] }
  for (;;) {
    if (!skipBlanks(reader)) return undefined
    if (reader.at >= reader.text.length || reader.text[reader.at] === '}') return items
    if (!readItem(reader, items)) return undefined
    if (!skipBlanks(reader)) return undefined
    // Commas between items are optional.
    takeSign(reader, ',')
  }
}

function readItem(reader: LegacyReader, items: Items): boolean {
  // A name, a separator, a value and its terminator.
  if (!countTokens(reader, 4)) return false
  const keys = readKeys(reader)
  const [first, second] = keys ?? []
  if (keys === undefined || first === undefined) return false
  if (takeSign(reader, '=')) {
    if (second !== undefined) {
      failNext(reader, 'Invalid key', 'Only one key may stand before "=".')
      return false
    }
    const attribute = readAttribute(reader, first)
    if (attribute !== undefined) items.attributes.push(attribute)
    return attribute !== undefined
  }
  const block = readBlock(reader, first, keys.slice(1))
  if (block !== undefined) items.blocks.push(block)
  return block !== undefined
}

function countTokens(reader: LegacyReader, count: number): boolean {
  reader.tokenCount += count
  if (reader.tokenCount <= TOKEN_COUNT_MAX) return true
  const detail = `A text may have at most ${TOKEN_COUNT_MAX} names, values and signs.`
  failNext(reader, 'Text too long', detail)
  return false
}

const IDENTIFIER = /[\p{L}_][\p{L}\p{Nd}_.-]*/uy

/** Reads at least one name or string before `=` or `{`. */
function readKeys(reader: LegacyReader): readonly Label[] | undefined {
  const keys: Label[] = []
  for (;;) {
    if (!skipBlanks(reader)) return undefined
    const { at } = reader
    const sign = reader.text[at]
    if ((sign === '=' || sign === '{') && keys.length > 0) return keys
    const text = sign === '"' ? readLegacyString(reader) : takeMatch(reader, IDENTIFIER)
    if (text === undefined) {
      if (sign === '"') return undefined
      return failNext(reader, 'Invalid key', 'Expected a name, a quoted string, "=" or "{" here.')
    }
    keys.push({ text, span: spanTo(reader, at, reader.at) })
  }
}

function readAttribute(reader: LegacyReader, key: Label): Attribute | undefined {
  const expression = readValue(reader)
  if (expression === undefined) return undefined
  const span = { ...key.span, end: expression.span.end }
  return { name: key.text, nameSpan: key.span, expression, span }
}

function readBlock(reader: LegacyReader, type: Label, labels: readonly Label[]): Block | undefined {
  const headerSpan = { ...type.span, end: labels.at(-1)?.span.end ?? type.span.end }
  // Each label is a nesting level: a reader without a schema creates an object for each.
  reader.depth += labels.length
  const body = readBraces(reader, headerSpan)
  reader.depth -= labels.length
  if (body === undefined) return undefined
  return { type: type.text, typeSpan: type.span, labels, body, headerSpan }
}

function readBraces(reader: LegacyReader, anchor: Span): Body | undefined {
  const start = reader.at
  if (reader.depth >= NESTING_DEPTH_MAX)
    return failNext(
      reader,
      'Nested too deeply',
      `Blocks may be at most ${NESTING_DEPTH_MAX} levels deep.`,
    )
  takeSign(reader, '{')
  reader.depth++
  const items = readItems(reader)
  reader.depth--
  if (items === undefined) return undefined
  if (!takeSign(reader, '}'))
    return failNext(reader, 'Unclosed block', 'Expected "}" before the end of the text.')
  return { syntax: 'legacy', ...items, anchor, span: spanTo(reader, start, reader.at) }
}

const WORD = /(?:true|false)(?![\p{L}\p{Nd}_.-])/uy

function readValue(reader: LegacyReader): Expression | undefined {
  if (!skipBlanks(reader)) return undefined
  const { text, at } = reader
  if (text[at] === '{') {
    const body = readBraces(reader, spanTo(reader, at, at + 1))
    return body === undefined ? undefined : bodyAsObject(body)
  }
  if (text[at] === '[') return readList(reader)
  if (text[at] === '"') return asLiteral(reader, at, readLegacyString(reader))
  if (text.startsWith('<<', at)) return asLiteral(reader, at, readLegacyHeredoc(reader))
  const word = takeMatch(reader, WORD)
  if (word !== undefined) return asLiteral(reader, at, word === 'true')
  return asLiteral(reader, at, readLegacyNumber(reader))
}

function asLiteral(
  reader: LegacyReader,
  start: number,
  value: string | boolean | number | bigint | undefined,
): Expression | undefined {
  if (value === undefined) return undefined
  return { kind: 'literal', value, span: spanTo(reader, start, reader.at) }
}

function readList(reader: LegacyReader): Expression | undefined {
  const start = reader.at
  if (reader.depth >= NESTING_DEPTH_MAX)
    return failNext(
      reader,
      'Nested too deeply',
      `Lists may be at most ${NESTING_DEPTH_MAX} levels deep.`,
    )
  takeSign(reader, '[')
  reader.depth++
  const elements = readElements(reader)
  reader.depth--
  if (elements === undefined) return undefined
  return { kind: 'tuple', elements, span: spanTo(reader, start, reader.at) }
}

function readElements(reader: LegacyReader): readonly Expression[] | undefined {
  const elements: Expression[] = []
  for (;;) {
    if (!skipBlanks(reader)) return undefined
    if (takeSign(reader, ']')) return elements
    if (!countTokens(reader, 2)) return undefined
    const element = readValue(reader)
    if (element === undefined || !skipBlanks(reader)) return undefined
    elements.push(element)
    if (!takeSign(reader, ',') && reader.text[reader.at] !== ']')
      return failNext(reader, 'Missing separator', 'Expected "," or "]" after an element.')
  }
}

const NUMBER =
  /-?(?:0[xX][0-9a-fA-F]+|(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)(?![\p{L}\p{Nd}_])/uy
const HEX = /^(-?)0[xX](.*)$/
const OCTAL = /^(-?)0([0-9]+)$/

/** Decimal with fraction and exponent, hexadecimal with `0x`, octal with `0`. */
function readLegacyNumber(reader: LegacyReader): NumberValue | undefined {
  const start = reader.at
  const text = takeMatch(reader, NUMBER)
  if (text === undefined) {
    const detail = 'Expected a string, a number, true, false, a list or an object.'
    return failNext(reader, 'Invalid value', detail)
  }
  const value = toNumber(text)
  if (value !== undefined) return value
  const detail =
    'A number that begins with 0 is octal, and numbers must be below 2 to the power of 1024.'
  const span = spanTo(reader, start, reader.at)
  return report(reader.problems, { span, summary: 'Invalid number', detail })
}

function toNumber(text: string): NumberValue | undefined {
  const hex = HEX.exec(text)
  if (hex !== null) return fromDigits(hex, '0x')
  const octal = OCTAL.exec(text)
  if (octal === null) return parseNumber(text)
  return /^[0-7]+$/.test(octal[2] ?? '') ? fromDigits(octal, '0o') : undefined
}

/**
 * 1024 bits are 256 hexadecimal or 342 octal digits; longer ones are out of range or leading zeros.
 */
const DIGITS_MAX = 342

function fromDigits(match: RegExpExecArray, prefix: '0x' | '0o'): NumberValue | undefined {
  const [, sign, digits = ''] = match
  if (digits.length > DIGITS_MAX) return undefined
  const value = BigInt(`${prefix}${digits}`)
  return fromBigInt(sign === '-' ? -value : value)
}
