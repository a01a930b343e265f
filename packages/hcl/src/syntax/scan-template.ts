import { type DiagnosticCollector, report } from '../text/diagnostic.ts'
import type { Source } from '../text/source.ts'
import type { Token, TokenKind } from './token.ts'

/** Scans one token of a template: text, the start of a sequence, or the end. */
export function scanTemplate(scanner: Scanner, mode: TemplateMode): void {
  const { text, at } = scanner
  if (mode.kind === 'heredoc' && mode.isAtLineStart && scanHeredocClose(scanner, mode.marker))
    return
  if (mode.kind === 'heredoc') mode.isAtLineStart = false
  if (isSequenceOpen(text, at)) return scanSequenceOpen(scanner)
  if (mode.kind === 'quoted') {
    if (text[at] === '"') {
      scanner.modes.pop()
      return push(scanner, 'quote-close', 1)
    }
    if (isLineEnd(text, at)) return cutQuoted(scanner)
  }
  const end = findTextEnd(text, at, mode.kind)
  if (mode.kind === 'heredoc') mode.isAtLineStart = text[end - 1] === '\n'
  push(scanner, 'text', end - at)
}

function isSequenceOpen(text: string, at: number): boolean {
  return (text[at] === '$' || text[at] === '%') && text[at + 1] === '{'
}

function isLineEnd(text: string, at: number): boolean {
  return text[at] === '\n' || (text[at] === '\r' && text[at + 1] === '\n')
}

function scanSequenceOpen(scanner: Scanner): void {
  const { text, at } = scanner
  scanner.modes.push({ kind: 'code', isSequence: true, openBraceCount: 0 })
  const kind = text[at] === '$' ? 'interpolation-open' : 'directive-open'
  push(scanner, kind, text[at + 2] === '~' ? 3 : 2)
}

/** The marker may be indented but must be alone on its line. */
function scanHeredocClose(scanner: Scanner, marker: string): boolean {
  const { text, at } = scanner
  const newline = text.indexOf('\n', at)
  const end = newline === -1 ? text.length : newline
  if (text.slice(at, end).trim() !== marker) return false
  scanner.modes.pop()
  push(scanner, 'heredoc-close', text[end - 1] === '\r' ? end - 1 - at : end - at)
  return true
}

/**
 * Closes an unterminated string at the end of its line, so that the next line is scanned as code.
 * Enclosing strings are closed too: usually the brace before a closing quote is missing, and that
 * quote opened this string.
 */
function cutQuoted(scanner: Scanner): void {
  const { source, at, problems } = scanner
  const detail =
    'A quoted string ends on the line where it begins. Use a heredoc for several lines, or "\\n".'
  const span = { source, start: at, end: at }
  report(problems, { span, summary: 'Unterminated string', detail })
  const { modes } = scanner
  modes.pop()
  push(scanner, 'quote-close', 0)
  while (modes.at(-1)?.kind === 'code' && modes.at(-2)?.kind === 'quoted') {
    modes.splice(-2)
    push(scanner, 'sequence-close', 0)
    push(scanner, 'quote-close', 0)
  }
}

/** At least one character: the caller has excluded every other token. */
function findTextEnd(text: string, start: number, kind: TemplateMode['kind']): number {
  let at = start
  while (at < text.length) {
    const unit = text[at]
    if (unit === '\n' && kind === 'heredoc') return at + 1
    if (kind === 'quoted' && (unit === '"' || isLineEnd(text, at))) return at
    if (unit === '\\' && kind === 'quoted' && at + 1 < text.length && !isLineEnd(text, at + 1))
      at += 2
    else if (isEscapedSequence(text, at)) at += 3
    else if (isSequenceOpen(text, at)) return at
    else at++
  }
  return at
}

/** `$${` and `%%{` are escapes for `${` and `%{`. */
export function isEscapedSequence(text: string, at: number): boolean {
  const unit = text[at]
  return (unit === '$' || unit === '%') && text[at + 1] === unit && text[at + 2] === '{'
}

/** State of the scanner: its position and the tokens so far. */
export interface Scanner {
  readonly source: Source
  readonly text: string
  readonly problems: DiagnosticCollector
  readonly tokens: Token[]
  /**
   * Templates inside code inside templates. A list instead of recursion, so that depth only costs
   * memory.
   */
  readonly modes: (CodeMode | TemplateMode)[]
  at: number
}

/** Inside `${…}`, a brace without an opening counterpart ends the sequence. */
export interface CodeMode {
  readonly kind: 'code'
  readonly isSequence: boolean
  openBraceCount: number
}

/** Scanning the characters of a quoted string, a heredoc or a bare template. */
type TemplateMode =
  | { readonly kind: 'quoted' | 'bare' }
  | { readonly kind: 'heredoc'; readonly marker: string; isAtLineStart: boolean }

/** Adds a token of this length and advances. */
export function push(scanner: Scanner, kind: TokenKind, length: number): void {
  scanner.tokens.push({ kind, start: scanner.at, end: scanner.at + length })
  scanner.at += length
}
