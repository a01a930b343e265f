/** Reference documentation of a block. Its arguments are documented in `schema/`. */
export interface BlockDocumentation {
  /** The first paragraph of its page, in Markdown. */
  readonly purpose: string
  /** Further paragraphs. */
  readonly notes?: readonly string[]
  /** Absent for blocks that are rejected. */
  readonly example?: BlockExample
}

/** Text that an example adds to a minimal job, at each level. */
export interface BlockExample {
  readonly job?: string
  readonly group?: string
  /** Replaces the driver and configuration of the task. */
  readonly task?: string
  /** Text before the job: variables and locals. */
  readonly file?: string
}
