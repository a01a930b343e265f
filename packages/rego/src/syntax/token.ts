import type { NumberValue } from '../value/number.ts'

export type TokenKind = 'name' | 'number' | 'string' | 'template' | 'mark' | 'end'

export interface Token {
  readonly kind: TokenKind
  /** A name, a mark, or the decoded text of a string. */
  readonly text: string
  readonly at: number
  readonly end: number
  readonly row: number
  /** White space, a comment or the start of the text stands before it. */
  readonly isSpaced: boolean
  readonly number?: NumberValue
  readonly parts?: readonly TemplatePiece[]
}

/** Literal text, or the tokens between braces. */
export type TemplatePiece = string | readonly Token[]

export interface Comment {
  readonly row: number
  readonly column: number
  readonly text: string
}
