import type { Diagnostic } from './diagnostic.ts'
import type { Range } from './source.ts'

/**
 * Diagnostics as people read them: place and message, then the source line with a mark under the range.
 * `texts` is the text of the only file, or the text of each file by name.
 */
export function formatDiagnostics(
  texts: string | ReadonlyMap<string, string>,
  diagnostics: readonly Diagnostic[],
): string {
  return diagnostics
    .map((diagnostic) => {
      const text = typeof texts === 'string' ? texts : texts.get(diagnostic.range.file)
      const lines = [formatDiagnostic(diagnostic)]
      if (text !== undefined) lines.push(...excerpt(text, diagnostic.range))
      return lines.join('\n')
    })
    .join('\n\n')
}

/** One line: `input.hcl:3,5-12: Unsupported argument; An argument named "foo" is not expected here.` */
export function formatDiagnostic(diagnostic: Diagnostic): string {
  const { summary, detail, severity } = diagnostic
  const message = detail === '' ? summary : `${summary}; ${detail}`
  const prefix = severity === 'warning' ? 'warning: ' : ''
  return `${formatRange(diagnostic.range)}: ${prefix}${message}`
}

/** `file:line,column-column`, or `file:line,column-line,column` over several lines. */
export function formatRange(range: Range): string {
  const { file, start, end } = range
  const last = end.line === start.line ? `${end.column}` : `${end.line},${end.column}`
  return `${file}:${start.line},${start.column}-${last}`
}

/** Long lines are cut around the range so that a message stays a message. */
const LINE_SHOWN_MAX = 120
const LEAD_SHOWN_MAX = 40

function excerpt(text: string, range: Range): readonly string[] {
  const { start, end } = range
  const lineStart = text.lastIndexOf('\n', start.offset - 1) + 1
  const lineEnd = lineEndAfter(text, start.offset)
  const cutStart =
    lineEnd - lineStart > LINE_SHOWN_MAX
      ? Math.max(lineStart, start.offset - LEAD_SHOWN_MAX)
      : lineStart
  const cutEnd = Math.min(lineEnd, cutStart + LINE_SHOWN_MAX)
  const before = Array.from(text.slice(cutStart, start.offset))
  const marked = Array.from(text.slice(start.offset, Math.min(end.offset, cutEnd)))
  const number = String(start.line)
  const gutter = ' '.repeat(number.length)
  const shown = `${cutStart > lineStart ? '…' : ''}${text.slice(cutStart, cutEnd)}${cutEnd < lineEnd ? '…' : ''}`
  // A tab stays a tab in the mark line: both lines then stop at the same columns in every terminal.
  const lead = `${cutStart > lineStart ? ' ' : ''}${before.map((c) => (c === '\t' ? '\t' : ' ')).join('')}`
  return [
    `  ${number} | ${shown}`,
    `  ${gutter} | ${lead}^${'~'.repeat(Math.max(0, marked.length - 1))}`,
  ]
}

function lineEndAfter(text: string, offset: number): number {
  const newline = text.indexOf('\n', offset)
  if (newline === -1) return text.length
  return newline > offset && text[newline - 1] === '\r' ? newline - 1 : newline
}
