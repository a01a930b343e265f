import { report } from '../text/diagnostic.ts'
import { failNext, spanTo, type LegacyReader } from './hcl1-reader.ts'

/** Reads a quoted string. `${…}` is kept as written, including quotes and line breaks inside it. */
export function readLegacyString(reader: LegacyReader): string | undefined {
  const { text } = reader
  const start = reader.at
  const parts: string[] = []
  let literalStart = start + 1
  let at = start + 1
  for (;;) {
    const unit = text[at]
    if (unit === '"') break
    if (unit === undefined || unit === '\n') return reportUnterminated(reader, start)
    if (unit === '$' && text[at + 1] === '{') {
      const end = findSequenceEnd(text, at)
      if (end === -1) return reportUnterminated(reader, start)
      at = end
    } else if (unit === '\\') {
      const escape = readEscape(text, at)
      if (escape === undefined) {
        reader.at = at
        return failNext(
          reader,
          'Invalid escape sequence',
          'The backslash does not begin a known escape.',
        )
      }
      parts.push(text.slice(literalStart, at), escape.character)
      at += escape.length
      literalStart = at
    } else at++
  }
  parts.push(text.slice(literalStart, at))
  reader.at = at + 1
  return parts.join('')
}

function reportUnterminated(reader: LegacyReader, start: number): undefined {
  const detail = 'A quoted string ends on the line where it begins.'
  const span = spanTo(reader, start, start + 1)
  return report(reader.problems, { span, summary: 'Unterminated string', detail })
}

/** Index after the brace that closes the sequence at `start`, or -1. Inner braces must balance. */
function findSequenceEnd(text: string, start: number): number {
  let openCount = 0
  for (let at = start; at < text.length; at++) {
    if (text[at] === '{') openCount++
    else if (text[at] === '}' && --openCount === 0) return at + 1
  }
  return -1
}

const SIMPLE_ESCAPES: ReadonlyMap<string, string> = new Map([
  ...(['"', "'", '\\'] as const).map((one) => [one, one] as const),
  ['a', '\u0007'],
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
  ['v', '\v'],
])

const NUMERIC_ESCAPE =
  /\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2}))/y

function readEscape(
  text: string,
  at: number,
): { readonly character: string; readonly length: number } | undefined {
  const simple = SIMPLE_ESCAPES.get(text[at + 1] ?? '')
  if (simple !== undefined) return { character: simple, length: 2 }
  NUMERIC_ESCAPE.lastIndex = at
  const match = NUMERIC_ESCAPE.exec(text)
  if (match === null) return undefined
  const [whole, ...groups] = match
  const octal = groups[3]
  const digits = groups.find((group) => group !== undefined) ?? ''
  const point = Number.parseInt(digits, octal === undefined ? 16 : 8)
  if (point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) return undefined
  return { character: String.fromCodePoint(point), length: whole.length }
}

const HEREDOC = /<<(-?)([\p{L}\p{Nd}_]+)\r?\n/uy

/**
 * `<<ID` keeps the text; `<<-ID` removes the indentation of the closing marker if every line has
 * it.
 */
export function readLegacyHeredoc(reader: LegacyReader): string | undefined {
  const { text } = reader
  const start = reader.at
  HEREDOC.lastIndex = start
  const match = HEREDOC.exec(text)
  if (match === null) {
    const detail = 'A heredoc begins with "<<" or "<<-", a marker, and the end of the line.'
    return failNext(reader, 'Invalid heredoc', detail)
  }
  const [, dash, marker = ''] = match
  const lines: string[] = []
  let at = HEREDOC.lastIndex
  while (at < text.length) {
    const newline = text.indexOf('\n', at)
    const line = text.slice(at, newline === -1 ? text.length : newline)
    if (line.trim() === marker) {
      reader.at = at + line.trimEnd().length
      const indentation = line.slice(0, line.length - line.trimStart().length)
      return joinLines(lines, dash === '-' ? indentation : '')
    }
    if (newline === -1) break
    lines.push(line)
    at = newline + 1
  }
  const detail = 'The closing marker of this heredoc was not found before the end of the text.'
  const span = spanTo(reader, start, start + 2)
  return report(reader.problems, { span, summary: 'Unterminated heredoc', detail })
}

function joinLines(lines: readonly string[], indentation: string): string {
  const isIndented = lines.every((line) => line.startsWith(indentation))
  return lines.map((line) => `${isIndented ? line.slice(indentation.length) : line}\n`).join('')
}
