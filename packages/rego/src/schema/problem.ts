/** What is wrong with a document, under the names it has in results. */
export interface SchemaProblem {
  /** Where, with periods between the names; `(Root)` for the document itself. */
  readonly field: string
  readonly type: string
  readonly description: string
}
