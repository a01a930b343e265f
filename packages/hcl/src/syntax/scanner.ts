import type { Problems } from '../text/diagnostic.ts'
import type { Source } from '../text/source.ts'
import type { Token, TokenKind } from './token.ts'

/** The place of the scanner in a text, and what it has found so far. */
export interface Scanner {
  readonly source: Source
  readonly text: string
  readonly problems: Problems
  readonly tokens: Token[]
  /**
   * Templates inside code inside templates; a list rather than recursion, so that depth costs only
   * memory.
   */
  readonly modes: (CodeMode | TemplateMode)[]
  at: number
}

/** Inside `${…}` of a template a brace that closes none opened there ends the sequence. */
export interface CodeMode {
  readonly kind: 'code'
  readonly isSequence: boolean
  openBraceCount: number
}

/** The characters of a quoted string, of a heredoc, or of a text that is a template as a whole. */
export type TemplateMode =
  | { readonly kind: 'quoted' | 'bare' }
  | { readonly kind: 'heredoc'; readonly marker: string; isAtLineStart: boolean }

/** Adds a token of this length at the current place and moves behind it. */
export function push(scanner: Scanner, kind: TokenKind, length: number): void {
  scanner.tokens.push({ kind, start: scanner.at, end: scanner.at + length })
  scanner.at += length
}
