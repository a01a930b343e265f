import { report, type DiagnosticCollector } from '../text/diagnostic.ts'
import type { Source, Span } from '../text/source.ts'

export interface JsonString {
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
export function scanJsonString(
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
