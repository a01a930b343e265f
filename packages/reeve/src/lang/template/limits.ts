/** What one template may cost: whoever writes a job writes its templates. */
export const TEMPLATE_LIMITS = {
  sourceCharsMax: 1024 * 1024,
  /** Nodes evaluated in one rendering. */
  stepsMax: 2_000_000,
  outputCharsMax: 16 * 1024 * 1024,
  /** Blocks and brackets inside each other; templates calling each other. */
  depthMax: 100,
  /** Size of a compiled regular expression. */
  patternInstructionsMax: 10_000,
} as const
