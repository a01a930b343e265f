import type { DiagnosticCollector } from '../text/diagnostic.ts'
import type { Source } from '../text/source.ts'
import type { Token, TokenKind } from './token.ts'

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
export type TemplateMode =
  | { readonly kind: 'quoted' | 'bare' }
  | { readonly kind: 'heredoc'; readonly marker: string; isAtLineStart: boolean }

/** Adds a token of this length and advances. */
export function push(scanner: Scanner, kind: TokenKind, length: number): void {
  scanner.tokens.push({ kind, start: scanner.at, end: scanner.at + length })
  scanner.at += length
}
