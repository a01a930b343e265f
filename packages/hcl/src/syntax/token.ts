import type { Source, Span } from '../text/source.ts'

const LONG_SIGNS = ['...', '&&', '||', '==', '!=', '<=', '>=', '=>', '::'] as const
const BRACKETS = ['{', '}', '[', ']', '(', ')'] as const
const SHORT_SIGNS = ['=', ',', '.', ':', '?', '!', '<', '>', '+', '-', '*', '/', '%'] as const

/** Longest first. Each is its own token kind. */
export const PUNCTUATION = [...LONG_SIGNS, ...BRACKETS, ...SHORT_SIGNS] as const

export type Punctuation = (typeof PUNCTUATION)[number]

export type TokenKind =
  | Punctuation
  | 'identifier'
  | 'number'
  | 'newline'
  /** The closing quote of an unterminated string is empty. */
  | 'quote-open'
  | 'quote-close'
  /** The marker with its line break. */
  | 'heredoc-open'
  | 'heredoc-close'
  /** Literal characters of a template; one token per line in a heredoc. */
  | 'text'
  /** `${`, `%{`, and their closing brace; with `~` if it strips whitespace. */
  | 'interpolation-open'
  | 'directive-open'
  | 'sequence-close'
  | 'end'

export interface Token {
  readonly kind: TokenKind
  readonly start: number
  readonly end: number
}

const DESCRIPTIONS: Partial<Record<TokenKind, string>> = {
  newline: 'the end of the line',
  'quote-open': 'a quoted string',
  'quote-close': 'a closing quote',
  'heredoc-open': 'a heredoc',
  'heredoc-close': 'the end of a heredoc',
  text: 'text',
  'interpolation-open': 'a template interpolation',
  'directive-open': 'a template directive',
  'sequence-close': 'the closing brace of a template sequence',
  end: 'the end of the text',
}

/** Describes the token for messages. */
export function describeToken(source: Source, token: Token): string {
  return (
    DESCRIPTIONS[token.kind] ??
    `"${source.text.slice(token.start, Math.min(token.end, token.start + 40))}"`
  )
}

export function spanOfToken(source: Source, token: Token): Span {
  return { source, start: token.start, end: token.end }
}
