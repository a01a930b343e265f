/** Limits of one template. Templates are part of jobs, so their authors are not trusted. */
export const TEMPLATE_LIMITS = {
  sourceCharsMax: 1024 * 1024,
  /** Nodes evaluated by one rendering. */
  stepsMax: 2_000_000,
  outputCharsMax: 16 * 1024 * 1024,
  /**
   * Bytes that one rendering may read, build and write. Steps count calls, and one call can process
   * 16 MiB, so 2,000,000 of them would take hours. This is four times the longest output, which
   * even slow functions process in a few seconds. A UTF-16 code unit counts as one byte, an element
   * of a list or map as `ELEMENT_BYTES`.
   */
  bytesMax: 64 * 1024 * 1024,
  /** Elements of a list that one call creates; a rendering has too few steps to process more. */
  listItemsMax: 1_000_000,
  /** Nesting of blocks, of parentheses, and of templates that call each other. */
  depthMax: 100,
  /** Nesting of lists and maps, for functions that traverse the whole value. */
  valueDepthMax: 1_000,
  /** Size of a compiled regular expression. */
  patternInstructionsMax: 10_000,
} as const
