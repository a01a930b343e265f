/** What one template may cost: whoever writes a job writes its templates. */
export const TEMPLATE_LIMITS = {
  sourceCharsMax: 1024 * 1024,
  /** Nodes evaluated in one rendering. */
  stepsMax: 2_000_000,
  outputCharsMax: 16 * 1024 * 1024,
  /**
   * Bytes that one rendering may read, build and write. Steps count calls, and one call can take
   * 16 MiB: 2,000,000 calls would take hours. This is four times the longest output, and even slow
   * functions get through it in a few seconds. A UTF-16 code unit counts as one byte, an element
   * of a list or map as `ELEMENT_BYTES`.
   */
  bytesMax: 64 * 1024 * 1024,
  /** Elements of a list that one call creates; a rendering has no steps to go through more. */
  listItemsMax: 1_000_000,
  /** Blocks and brackets inside each other; templates calling each other. */
  depthMax: 100,
  /** Lists and maps inside each other, where a function goes through the whole value. */
  valueDepthMax: 1_000,
  /** Size of a compiled regular expression. */
  patternInstructionsMax: 10_000,
} as const
