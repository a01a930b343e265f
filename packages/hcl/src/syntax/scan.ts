import { SOURCE_LENGTH_MAX, TOKEN_COUNT_MAX } from '../limits.ts'
import { report, type DiagnosticCollector } from '../text/diagnostic.ts'
import type { Source } from '../text/source.ts'
import { quoteText } from '../text/suggest.ts'
import { type CodeMode, push, type Scanner, scanTemplate } from './scan-template.ts'
import { PUNCTUATION, type Punctuation, type Token } from './token.ts'

/**
 * Splits text into tokens, without comments and whitespace. Undefined if the text exceeds the
 * limits.
 */
export function scan(
  source: Source,
  start: 'code' | 'template',
  problems: DiagnosticCollector,
): readonly Token[] | undefined {
  const { text } = source
  const nowhere = { source, start: 0, end: 0 }
  if (text.length > SOURCE_LENGTH_MAX) {
    const detail = `A text may have at most ${SOURCE_LENGTH_MAX} characters, but this one has ${text.length}.`
    return report(problems, { span: nowhere, summary: 'Text too long', detail })
  }
  const scanner: Scanner = { source, text, problems, tokens: [], modes: [], at: 0 }
  scanner.modes.push(
    start === 'code' ? { kind: 'code', isSequence: false, openBraceCount: 0 } : { kind: 'bare' },
  )
  // Editors may add a byte order mark; it is not part of the text.
  if (text.startsWith('\uFEFF')) scanner.at = 1
  while (scanner.at < text.length) {
    if (scanner.tokens.length >= TOKEN_COUNT_MAX) {
      const detail = `A text may have at most ${TOKEN_COUNT_MAX} words and signs.`
      const span = { source, start: scanner.at, end: scanner.at }
      return report(problems, { span, summary: 'Text too long', detail })
    }
    const mode = scanner.modes.at(-1)
    if (mode === undefined || mode.kind === 'code') scanCode(scanner, mode)
    else scanTemplate(scanner, mode)
  }
  push(scanner, 'end', 0)
  return scanner.tokens
}

const BLANK = /[ \t]+/y
const IDENTIFIER = /[\p{ID_Start}_][\p{ID_Continue}-]*/uy
const NUMBER = /[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y

function scanCode(scanner: Scanner, mode: CodeMode | undefined): void {
  const { text, at } = scanner
  switch (text[at]) {
    case ' ':
    case '\t':
      scanner.at += matchLength(BLANK, scanner)
      return
    case '\n':
      return push(scanner, 'newline', 1)
    case '\r':
      return text[at + 1] === '\n' ? push(scanner, 'newline', 2) : skipInvalid(scanner)
    case '#':
      return skipLineComment(scanner)
    case '"':
      scanner.modes.push({ kind: 'quoted' })
      return push(scanner, 'quote-open', 1)
    default:
      return scanWord(scanner, mode)
  }
}

function scanWord(scanner: Scanner, mode: CodeMode | undefined): void {
  const { text, at } = scanner
  if (SIGNS.has(text[at] ?? '')) {
    if (text.startsWith('//', at)) return skipLineComment(scanner)
    if (text.startsWith('/*', at)) return skipBlockComment(scanner)
    if (text.startsWith('<<', at)) return scanHeredocOpen(scanner)
    return scanPunctuation(scanner, mode)
  }
  const identifierLength = matchLength(IDENTIFIER, scanner)
  if (identifierLength > 0) return push(scanner, 'identifier', identifierLength)
  const numberLength = matchLength(NUMBER, scanner)
  if (numberLength > 0) return push(scanner, 'number', numberLength)
  scanPunctuation(scanner, mode)
}

function matchLength(pattern: RegExp, scanner: Scanner): number {
  pattern.lastIndex = scanner.at
  return pattern.test(scanner.text) ? pattern.lastIndex - scanner.at : 0
}

/** The line break is kept: it terminates the attribute before the comment. */
function skipLineComment(scanner: Scanner): void {
  const newline = scanner.text.indexOf('\n', scanner.at)
  const end = newline === -1 ? scanner.text.length : newline
  scanner.at = newline !== -1 && scanner.text[end - 1] === '\r' ? end - 1 : end
}

function skipBlockComment(scanner: Scanner): void {
  const { source, text, at, problems } = scanner
  const close = text.indexOf('*/', at + 2)
  scanner.at = close === -1 ? text.length : close + 2
  if (close !== -1) return
  const detail = 'This comment has no closing "*/" before the end of the text.'
  report(problems, {
    span: { source, start: at, end: at + 2 },
    summary: 'Unterminated comment',
    detail,
  })
}

const HEREDOC = /<<(-?)([\p{ID_Start}_][\p{ID_Continue}-]*)\r?\n/uy

function scanHeredocOpen(scanner: Scanner): void {
  const { source, text, at, problems } = scanner
  HEREDOC.lastIndex = at
  const match = HEREDOC.exec(text)
  if (match === null) {
    const detail = 'A heredoc begins with "<<" or "<<-", an identifier, and the end of the line.'
    report(problems, {
      span: { source, start: at, end: at + 2 },
      summary: 'Invalid heredoc',
      detail,
    })
    scanner.at += 2
    return
  }
  scanner.modes.push({ kind: 'heredoc', marker: match[2] ?? '', isAtLineStart: true })
  push(scanner, 'heredoc-open', match[0].length)
}

/** Grouped by first character, longest first. */
const SIGNS: ReadonlyMap<string, readonly Punctuation[]> = Map.groupBy(PUNCTUATION, (sign) =>
  sign.slice(0, 1),
)

function scanPunctuation(scanner: Scanner, mode: CodeMode | undefined): void {
  const { text, at } = scanner
  const canClose = mode?.isSequence === true && mode.openBraceCount === 0
  if (canClose && (text[at] === '}' || text.startsWith('~}', at))) {
    scanner.modes.pop()
    return push(scanner, 'sequence-close', text[at] === '}' ? 1 : 2)
  }
  const sign = SIGNS.get(text[at] ?? '')?.find((one) => text.startsWith(one, at))
  if (sign === undefined) return skipInvalid(scanner)
  if (mode !== undefined) mode.openBraceCount = braceCountAfter(sign, mode.openBraceCount)
  push(scanner, sign, sign.length)
}

function braceCountAfter(sign: Punctuation, count: number): number {
  if (sign === '{') return count + 1
  return sign === '}' ? Math.max(0, count - 1) : count
}

const TYPOGRAPHIC = 'Typographic quotes are not valid. Use double quotes (") to enclose strings.'

/** Operators of other languages and their HCL equivalents. */
const HABITS: ReadonlyMap<string, string> = new Map([
  ["'", 'Single quotes are not valid. Use double quotes (") to enclose strings.'],
  ['`', 'Backticks are not valid. Use a heredoc for a string of several lines.'],
  [';', 'Semicolons are not valid. Use newlines to separate arguments and blocks.'],
  ['&', 'Bitwise operators are not supported. Did you mean boolean AND ("&&")?'],
  ['|', 'Bitwise operators are not supported. Did you mean boolean OR ("||")?'],
  ['^', 'Bitwise operators are not supported.'],
  ['~', 'Bitwise operators are not supported.'],
  ...['“', '”', '„', '‘', '’'].map((quote) => [quote, TYPOGRAPHIC] as const),
  ['\r', 'A carriage return is valid only before a line feed.'],
])

const INVALID_RUN = /[^\p{ID_Start}_0-9\s{}[\]()=,.:?!<>+\-*/%"#&|'`;^~]+/uy

/** Reports a run of invalid characters once: binary data is one error, not a million. */
function skipInvalid(scanner: Scanner): void {
  const { source, text, at, problems } = scanner
  const first = text[at] ?? ''
  let length = Math.max(1, matchLength(INVALID_RUN, scanner))
  while (text[at + length] === first) length++
  const characters = text.slice(at, at + length)
  const detail = HABITS.get(first) ?? `The characters ${quoteText(characters)} are not used here.`
  const span = { source, start: at, end: at + length }
  report(problems, { span, summary: 'Invalid character', detail })
  scanner.at += length
}
