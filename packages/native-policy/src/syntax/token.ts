/** Cannot be identifiers, but may follow a dot. */
export const KEYWORDS: ReadonlySet<string> = new Set([
  'all',
  'any',
  'as',
  'break',
  'case',
  'continue',
  'default',
  'else',
  'empty',
  'filter',
  'for',
  'func',
  'if',
  'import',
  'map',
  'param',
  'return',
  'rule',
  'when',
])

/** Operators spelled as words; identifiers cannot be called so either. */
export const WORD_OPERATORS: ReadonlySet<string> = new Set([
  'and',
  'or',
  'xor',
  'not',
  'in',
  'contains',
  'is',
  'matches',
])

export type TokenKind =
  | 'identifier'
  /** A keyword, a word operator or punctuation: `text` says which. */
  | 'word'
  | 'mark'
  | 'int'
  | 'float'
  | 'string'
  /** A `;`, written or understood at the end of a line. */
  | 'end-of-statement'
  | 'end-of-text'

export interface Token {
  readonly kind: TokenKind
  /** As written; for a string what it means. */
  readonly text: string
  readonly start: number
  readonly end: number
  /** The number of an `int`; undefined otherwise. */
  readonly int?: number | bigint
  readonly float?: number
  /** The `#` comments directly above it. */
  readonly description?: string
  /** A `;` that nobody wrote: a continuation on the next line takes it back. */
  readonly isImplied?: boolean
}
