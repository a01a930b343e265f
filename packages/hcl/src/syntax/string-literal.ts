import { report, type DiagnosticCollector } from '../text/diagnostic.ts'
import { textOf, type Span } from '../text/source.ts'
import { isEscapedSequence } from './scan-template.ts'

/** Decodes a part of a heredoc or bare template: only `$${` and `%%{` are escapes. */
export function decodeTemplateText(span: Span): string {
  const text = textOf(span)
  return text.includes('{') ? text.replaceAll(/([$%])\1\{/g, '$1{') : text
}

const SIMPLE_ESCAPES: ReadonlyMap<string, string> = new Map([
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
  ['"', '"'],
  ['\\', '\\'],
])

/** Decodes a part of a quoted string. An invalid escape is reported and omitted. */
export function decodeQuotedText(span: Span, problems: DiagnosticCollector): string {
  const text = textOf(span)
  if (!text.includes('\\')) return decodeTemplateText(span)
  const decoded: string[] = []
  let literalStart = 0
  let at = 0
  const flush = (literalEnd: number, replacement: string, next: number) => {
    decoded.push(text.slice(literalStart, literalEnd), replacement)
    literalStart = at = next
  }
  while (at < text.length) {
    if (isEscapedSequence(text, at)) flush(at, `${text[at] ?? ''}{`, at + 3)
    else if (text[at] !== '\\') at++
    else {
      const escape = readEscape(text, at)
      if (escape.character === undefined)
        reportEscape(problems, {
          ...span,
          start: span.start + at,
          end: span.start + at + escape.length,
        })
      flush(at, escape.character ?? '', at + escape.length)
    }
  }
  flush(text.length, '', text.length)
  return decoded.join('')
}

interface Escape {
  readonly character: string | undefined
  /** Length in the source, including the backslash. */
  readonly length: number
}

function readEscape(text: string, at: number): Escape {
  const selector = text[at + 1] ?? ''
  const simple = SIMPLE_ESCAPES.get(selector)
  if (simple !== undefined) return { character: simple, length: 2 }
  const digitCount = selector === 'u' ? 4 : selector === 'U' ? 8 : 0
  const digits = text.slice(at + 2, at + 2 + digitCount)
  if (digitCount > 0 && digits.length === digitCount && /^[0-9a-fA-F]+$/.test(digits)) {
    const point = Number.parseInt(digits, 16)
    const isScalar = point <= 0x10ffff && (point < 0xd800 || point > 0xdfff)
    return { character: isScalar ? String.fromCodePoint(point) : undefined, length: 2 + digitCount }
  }
  return { character: undefined, length: 1 + selector.length }
}

function reportEscape(problems: DiagnosticCollector, span: Span): void {
  const detail =
    'An escape is one of \\n, \\r, \\t, \\", \\\\, \\u with four and \\U with eight hexadecimal digits of a character.'
  report(problems, { span, summary: 'Invalid escape sequence', detail })
}
