/** The text of the reference about a block; the tables of `schema/` describe its arguments. */
export interface BlockDocumentation {
  /** The first paragraph of its page, in Markdown. */
  readonly purpose: string
  /** Further paragraphs. */
  readonly notes?: readonly string[]
  /** Absent for blocks that are rejected. */
  readonly example?: BlockExample
}

/** What an example adds to a small job, at each level. */
export interface BlockExample {
  readonly job?: string
  readonly group?: string
  /** Replaces the driver and configuration of the task. */
  readonly task?: string
  /** Written before the job: variables and locals. */
  readonly file?: string
}
