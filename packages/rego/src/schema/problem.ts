/** A validation error of a document, with the member names of results. */
export interface SchemaProblem {
  /** Path with periods between the names; `(Root)` for the document itself. */
  readonly field: string
  readonly type: string
  readonly description: string
}
