import { err, ok, type Result } from '@reeve/kit/result.ts'
import { NESTING_DEPTH_MAX, SOURCE_LENGTH_MAX, TOKEN_COUNT_MAX } from '../limits.ts'
import {
  createCollector,
  report,
  toSortedDiagnostics,
  type Diagnostic,
  type DiagnosticCollector,
} from '../text/diagnostic.ts'
import { makeSource, type Source, type Span } from '../text/source.ts'
import { parseNumber } from '@reeve/kit/number.ts'
import { objectAsBody, parseTemplateOf } from './parse.ts'
import type { Body, Expression, ObjectExpression, ObjectItem } from './ast.ts'

export interface JsonOptions {
  /**
   * Whether strings are templates, as in HCL JSON; otherwise `${…}` is plain text. Default: true.
   */
  readonly hasTemplates?: boolean
}

/** Parses a file in JSON syntax: an object, or a list of objects that are merged. */
export function parseHclJson(
  text: string,
  file: string,
  options: JsonOptions = {},
): Result<Body, readonly Diagnostic[]> {
  const reader = makeReader(makeSource(file, text), options)
  const root = readRoot(reader)
  const body = root === undefined ? undefined : rootAsBody(reader, root)
  if (body === undefined || reader.problems.items.length > 0)
    return err(toSortedDiagnostics(reader.problems))
  return ok(body)
}

interface Reader {
  readonly source: Source
  readonly text: string
  readonly problems: DiagnosticCollector
  readonly hasTemplates: boolean
  at: number
  depth: number
  tokenCount: number
}

function makeReader(source: Source, options: JsonOptions): Reader {
  const at = source.text.startsWith('\uFEFF') ? 1 : 0
  const hasTemplates = options.hasTemplates ?? true
  return {
    source,
    text: source.text,
    problems: createCollector(),
    hasTemplates,
    at,
    depth: 0,
    tokenCount: 0,
  }
}

function readRoot(reader: Reader): Expression | undefined {
  if (reader.text.length > SOURCE_LENGTH_MAX)
    return fail(reader, 'Text too long', `A text may have at most ${SOURCE_LENGTH_MAX} characters.`)
  const root = readValue(reader)
  if (root === undefined) return undefined
  skipBlanks(reader)
  if (reader.at === reader.text.length) return root
  return fail(reader, 'Extra characters after JSON value', 'Expected the end of the text.')
}

function rootAsBody(reader: Reader, root: Expression): Body | undefined {
  const elements = root.kind === 'tuple' ? root.elements : [root]
  const stranger = elements.find((element) => element.kind !== 'object')
  if (stranger !== undefined) {
    const detail = 'The text must be a JSON object, or a list of objects.'
    return report(reader.problems, { span: stranger.span, summary: 'Object required', detail })
  }
  const items = elements.flatMap((element) => (element.kind === 'object' ? element.items : []))
  const object: ObjectExpression = { kind: 'object', items, uniqueNames: true, span: root.span }
  return objectAsBody(object, 'json', { ...root.span, end: root.span.start })
}

/** Reports an error at the next character. */
function fail(reader: Reader, summary: string, detail: string): undefined {
  const end = Math.min(reader.text.length, reader.at + 1)
  return report(reader.problems, { span: spanTo(reader, reader.at, end), summary, detail })
}

function spanTo(reader: Reader, start: number, end: number): Span {
  return { source: reader.source, start, end }
}

const BLANKS = /[ \t\r\n]+/y

function skipBlanks(reader: Reader): void {
  BLANKS.lastIndex = reader.at
  if (BLANKS.test(reader.text)) reader.at = BLANKS.lastIndex
}

function takeSign(reader: Reader, sign: string): boolean {
  skipBlanks(reader)
  if (reader.text[reader.at] !== sign) return false
  reader.at++
  return true
}

const WORD = /true|false|null/y
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y

function readValue(reader: Reader): Expression | undefined {
  // One token for the value and one for the separator after it.
  if (!countTokens(reader, 2)) return undefined
  skipBlanks(reader)
  const { text, at } = reader
  if (text[at] === '{') return nested(reader, readObject)
  if (text[at] === '[') return nested(reader, readList)
  if (text[at] === '"') {
    const string = readString(reader)
    return string === undefined ? undefined : stringAsExpression(reader, string)
  }
  const word = readMatch(reader, WORD)
  if (word !== undefined) {
    const value = word === 'null' ? null : word === 'true'
    return { kind: 'literal', value, span: spanTo(reader, at, reader.at) }
  }
  const digits = readMatch(reader, NUMBER)
  if (digits === undefined)
    return fail(
      reader,
      'Invalid JSON value',
      'Expected an object, a list, a string, a number, true, false or null.',
    )
  const span = spanTo(reader, at, reader.at)
  const value = parseNumber(digits)
  if (value !== undefined) return { kind: 'literal', value, span }
  const detail = 'Numbers must be below 2 to the power of 1024.'
  return report(reader.problems, { span, summary: 'Number out of range', detail })
}

function countTokens(reader: Reader, count: number): boolean {
  reader.tokenCount += count
  if (reader.tokenCount <= TOKEN_COUNT_MAX) return true
  const detail = `A text may have at most ${TOKEN_COUNT_MAX} names, values and signs.`
  fail(reader, 'Text too long', detail)
  return false
}

function readMatch(reader: Reader, pattern: RegExp): string | undefined {
  pattern.lastIndex = reader.at
  const match = pattern.exec(reader.text)
  if (match === null) return undefined
  reader.at = pattern.lastIndex
  return match[0]
}

function nested(
  reader: Reader,
  read: (reader: Reader) => Expression | undefined,
): Expression | undefined {
  if (reader.depth >= NESTING_DEPTH_MAX)
    return fail(
      reader,
      'Nested too deeply',
      `Values may be at most ${NESTING_DEPTH_MAX} levels deep.`,
    )
  reader.depth++
  const value = read(reader)
  reader.depth--
  return value
}

function readObject(reader: Reader): Expression | undefined {
  const start = reader.at++
  const items: ObjectItem[] = []
  if (!takeSign(reader, '}')) {
    do {
      const item = readMember(reader)
      if (item === undefined) return undefined
      items.push(item)
    } while (takeSign(reader, ','))
    if (!takeSign(reader, '}'))
      return fail(reader, 'Missing separator', 'Expected "," or "}" after a property.')
  }
  return { kind: 'object', items, uniqueNames: true, span: spanTo(reader, start, reader.at) }
}

function readMember(reader: Reader): ObjectItem | undefined {
  skipBlanks(reader)
  if (reader.text[reader.at] !== '"')
    return fail(
      reader,
      'Property name required',
      'Expected the name of a property in double quotes.',
    )
  const name = readString(reader)
  // One token for the name and one for the colon.
  if (name === undefined || !countTokens(reader, 2)) return undefined
  const key = stringAsExpression(reader, name)
  if (key === undefined) return undefined
  if (!takeSign(reader, ':'))
    return fail(reader, 'Missing separator', 'Expected ":" after the name of a property.')
  const value = readValue(reader)
  if (value === undefined) return undefined
  const span = { ...name.span, end: reader.at }
  return { key, keySpan: name.span, name: name.text, value, span }
}

function readList(reader: Reader): Expression | undefined {
  const start = reader.at++
  const elements: Expression[] = []
  if (!takeSign(reader, ']')) {
    do {
      const element = readValue(reader)
      if (element === undefined) return undefined
      elements.push(element)
    } while (takeSign(reader, ','))
    if (!takeSign(reader, ']'))
      return fail(reader, 'Missing separator', 'Expected "," or "]" after an element.')
  }
  return { kind: 'tuple', elements, span: spanTo(reader, start, reader.at) }
}

function readString(reader: Reader): JsonString | undefined {
  const string = scanJsonString(reader.source, reader.at, reader.problems)
  if (string !== undefined) reader.at = string.span.end
  return string
}

/** The shortest template has three tokens in four characters: `${a}`. */
const TEMPLATE_CHARACTERS_PER_TOKEN = 1.3

/** Parses the template in the decoded text, whose offsets map back to the source. */
function stringAsExpression(reader: Reader, string: JsonString): Expression | undefined {
  const { text, span } = string
  const mayBeTemplate = reader.hasTemplates && (text.includes('${') || text.includes('%{'))
  if (!mayBeTemplate) return { kind: 'literal', value: text, span }
  if (!countTokens(reader, Math.ceil(text.length / TEMPLATE_CHARACTERS_PER_TOKEN))) return undefined
  const outer = { source: reader.source, offsetOf: string.offsetOf }
  const expression = parseTemplateOf(makeSource(reader.source.file, text, outer), reader.problems)
  // A literal consists of escape sequences only; its span is the JSON string.
  return expression?.kind === 'literal' ? { ...expression, span } : expression
}

interface JsonString {
  /** The decoded string. */
  readonly text: string
  /** The span including the quotes. */
  readonly span: Span
  /** Maps an offset in the decoded text to its offset in the source. */
  readonly offsetOf: (inner: number) => number
}

/** From decoded offset `inner` on, characters were written at source offset `outer`. */
interface Anchor {
  readonly inner: number
  readonly outer: number
}

// JSON forbids control characters in strings.
// oxlint-disable-next-line no-control-regex
const PLAIN = /[^"\\\u0000-\u001f]+/y

/** Scans the string whose opening quote is at `start`. */
function scanJsonString(
  source: Source,
  start: number,
  problems: DiagnosticCollector,
): JsonString | undefined {
  const parts: string[] = []
  const anchors: Anchor[] = [{ inner: 0, outer: start + 1 }]
  let at = start + 1
  let length = 0
  for (;;) {
    PLAIN.lastIndex = at
    if (PLAIN.test(source.text)) {
      parts.push(source.text.slice(at, PLAIN.lastIndex))
      length += PLAIN.lastIndex - at
      at = PLAIN.lastIndex
    }
    if (source.text[at] === '"') break
    const escape = source.text[at] === '\\' ? readEscape(source.text, at) : undefined
    if (escape === undefined) return reportBroken(source, start, { at, problems })
    parts.push(escape.character)
    length += escape.character.length
    at += escape.length
    anchors.push({ inner: length, outer: at })
  }
  const span = { source, start, end: at + 1 }
  return { text: parts.join(''), span, offsetOf: (inner) => outerOffset(anchors, inner) }
}

const SIMPLE_ESCAPES: ReadonlyMap<string, string> = new Map([
  ...(['"', '\\', '/'] as const).map((one) => [one, one] as const),
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
])

function readEscape(
  text: string,
  at: number,
): { readonly character: string; readonly length: number } | undefined {
  const selector = text[at + 1] ?? ''
  const simple = SIMPLE_ESCAPES.get(selector)
  if (simple !== undefined) return { character: simple, length: 2 }
  const digits = text.slice(at + 2, at + 6)
  if (selector !== 'u' || !/^[0-9a-fA-F]{4}$/.test(digits)) return undefined
  return { character: String.fromCharCode(Number.parseInt(digits, 16)), length: 6 }
}

function reportBroken(
  source: Source,
  start: number,
  found: { readonly at: number; readonly problems: DiagnosticCollector },
): undefined {
  const { at, problems } = found
  if (at >= source.text.length) {
    const detail = 'The closing quote of this string was not found before the end of the text.'
    const span = { source, start, end: start + 1 }
    return report(problems, { span, summary: 'Unterminated string', detail })
  }
  const span = { source, start: at, end: at + 1 }
  if (source.text[at] === '\\') {
    const detail =
      'An escape is one of \\", \\\\, \\/, \\b, \\f, \\n, \\r, \\t and \\u with four hexadecimal digits.'
    return report(problems, { span, summary: 'Invalid escape sequence', detail })
  }
  const detail = 'A line end or control character in a string must be written as an escape.'
  return report(problems, { span, summary: 'Invalid character in string', detail })
}

function outerOffset(anchors: readonly Anchor[], inner: number): number {
  let low = 0
  let high = anchors.length - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if ((anchors[middle]?.inner ?? 0) <= inner) low = middle
    else high = middle - 1
  }
  const anchor = anchors[low]
  return anchor === undefined ? inner : anchor.outer + inner - anchor.inner
}
