import { report, type DiagnosticCollector } from '../text/diagnostic.ts'
import type { Source, Span } from '../text/source.ts'

/** The position in an HCL 1 text. Reading functions return undefined after reporting an error. */
export interface LegacyReader {
  readonly source: Source
  readonly text: string
  readonly problems: DiagnosticCollector
  at: number
  depth: number
  /** Number of names, values and separators so far. */
  tokenCount: number
}

/** Reports an error at the next character. */
export function failNext(reader: LegacyReader, summary: string, detail: string): undefined {
  const end = Math.min(reader.text.length, reader.at + 1)
  return report(reader.problems, { span: spanTo(reader, reader.at, end), summary, detail })
}

export function spanTo(reader: LegacyReader, start: number, end: number): Span {
  return { source: reader.source, start, end }
}

export function takeSign(reader: LegacyReader, sign: string): boolean {
  if (reader.text[reader.at] !== sign) return false
  reader.at += sign.length
  return true
}

/** Consumes a match of a sticky regular expression. */
export function takeMatch(reader: LegacyReader, pattern: RegExp): string | undefined {
  pattern.lastIndex = reader.at
  const match = pattern.exec(reader.text)
  if (match === null) return undefined
  reader.at = pattern.lastIndex
  return match[0]
}

const BLANKS = /[ \t\r\n]+/y

/**
 * Skips whitespace, line breaks and comments. Reports an unterminated comment and returns false.
 */
export function skipBlanks(reader: LegacyReader): boolean {
  const { text } = reader
  for (;;) {
    takeMatch(reader, BLANKS)
    const { at } = reader
    if (text[at] === '#' || text.startsWith('//', at)) {
      const newline = text.indexOf('\n', at)
      reader.at = newline === -1 ? text.length : newline
    } else if (text.startsWith('/*', at)) {
      const close = text.indexOf('*/', at + 2)
      if (close === -1) {
        failNext(
          reader,
          'Unterminated comment',
          'This comment has no closing "*/" before the end of the text.',
        )
        return false
      }
      reader.at = close + 2
    } else return true
  }
}
