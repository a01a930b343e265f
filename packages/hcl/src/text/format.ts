import type { Diagnostic } from './diagnostic.ts'
import type { Range } from './source.ts'

/**
 * Formats diagnostics for people: position and message, then the source line with the range
 * underlined. `texts` is the text of the only file, or texts by file name.
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

/**
 * One line: `input.hcl:3,5-12: Unsupported argument; An argument named "foo" is not expected here.`
 */
export function formatDiagnostic(diagnostic: Diagnostic): string {
  const { summary, detail, severity } = diagnostic
  const message = detail === '' ? summary : `${summary}; ${detail}`
  const prefix = severity === 'warning' ? 'warning: ' : ''
  return `${formatRange(diagnostic.range)}: ${prefix}${message}`
}

/** `file:line,column-column`, or `file:line,column-line,column` for several lines. */
export function formatRange(range: Range): string {
  const { file, start, end } = range
  const last = end.line === start.line ? `${end.column}` : `${end.line},${end.column}`
  return `${file}:${start.line},${start.column}-${last}`
}

/** Long lines are truncated around the range. The rest of the line is not scanned. */
const LEAD_SHOWN_MAX = 60
const LINE_SHOWN_MAX = 120

function excerpt(text: string, range: Range): readonly string[] {
  const { start, end } = range
  const lead = lastLineOf(text.slice(Math.max(0, start.offset - LEAD_SHOWN_MAX), start.offset))
  const rest = firstLineOf(text.slice(start.offset, start.offset + LINE_SHOWN_MAX - lead.length))
  const hasMoreBefore =
    lead.length === LEAD_SHOWN_MAX && text[start.offset - lead.length - 1] !== '\n'
  const hasMoreAfter = rest.length === LINE_SHOWN_MAX - lead.length
  const marked = Array.from(rest.slice(0, end.offset - start.offset))
  const number = String(start.line)
  // Tabs are kept in the underline, so that both lines align in every terminal.
  const indentation = Array.from(lead, (character) => (character === '\t' ? '\t' : ' ')).join('')
  const mark = `^${'~'.repeat(Math.max(0, marked.length - 1))}`
  return [
    `  ${number} | ${hasMoreBefore ? '…' : ''}${lead}${rest}${hasMoreAfter ? '…' : ''}`,
    `  ${' '.repeat(number.length)} | ${hasMoreBefore ? ' ' : ''}${indentation}${mark}`,
  ]
}

function lastLineOf(text: string): string {
  return text.slice(text.lastIndexOf('\n') + 1)
}

function firstLineOf(text: string): string {
  return /^[^\r\n]*/.exec(text)?.[0] ?? ''
}
