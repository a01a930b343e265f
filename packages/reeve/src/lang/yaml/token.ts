/** What the scanner gives to the composer. */
export type Token = MarkToken | ScalarToken | NameToken

/** A token that is all kind: where collections begin and end, and what separates their parts. */
export interface MarkToken {
  readonly kind: MarkKind
  readonly at: number
}

export type MarkKind =
  | 'block-sequence-start'
  | 'block-mapping-start'
  | 'block-end'
  | 'flow-sequence-start'
  | 'flow-sequence-end'
  | 'flow-mapping-start'
  | 'flow-mapping-end'
  | 'block-entry'
  | 'flow-entry'
  | 'key'
  | 'value'
  | 'document-start'
  | 'document-end'
  | 'end'

export interface ScalarToken {
  readonly kind: 'scalar'
  readonly at: number
  readonly text: string
  /** Only a plain scalar may be anything but a string. */
  readonly isPlain: boolean
}

export interface NameToken {
  readonly kind: 'anchor' | 'alias' | 'tag'
  readonly at: number
  readonly name: string
}
