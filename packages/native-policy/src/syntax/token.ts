/** Reserved words. They may follow a dot as selectors. */
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

/** Operators spelled as words; they are reserved too. */
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
  /** A keyword, word operator or punctuation, given by `text`. */
  | 'word'
  | 'mark'
  | 'int'
  | 'float'
  | 'string'
  /** A `;`, written or implied by a line break. */
  | 'end-of-statement'
  | 'end-of-text'

export interface Token {
  readonly kind: TokenKind
  /** As written; for a string its value. */
  readonly text: string
  readonly start: number
  readonly end: number
  /** The value of an `int`; otherwise undefined. */
  readonly int?: number | bigint
  readonly float?: number
  /** The `#` comments directly above the token. */
  readonly description?: string
  /** An implied `;`: a continuation on the next line removes it. */
  readonly isImplied?: boolean
}
