/** Limits of one filter. Any caller who may list a resource can send one. */

/** Maximum characters; enough for about 350 comparisons with a UUID. */
export const MAX_TEXT_LENGTH = 16_384

/** Maximum number of comparisons, connectives and quantifiers. */
export const MAX_NODES = 1_000

/**
 * Maximum nesting of groups, negations and quantifiers; prevents a stack overflow in the recursive
 * parser.
 */
export const MAX_DEPTH = 100

/** Maximum instructions of all regular expressions together; `.{900}` has about 900. */
export const MAX_PATTERN_INSTRUCTIONS = 2_000

/**
 * Maximum estimated size of one regular expression, checked before it is compiled on the request
 * thread. The estimate may be a few times too high.
 */
export const MAX_PATTERN_SIZE = 4 * MAX_PATTERN_INSTRUCTIONS

/**
 * Maximum steps per row, a few milliseconds. A comparison or a visited element is one step, so
 * nested quantifiers over long lists fail instead of blocking the server.
 */
export const MAX_STEPS_PER_ROW = 100_000

/**
 * A pattern of n instructions visits at most n states per character; eight take as long as a step.
 */
export const PATTERN_STATES_PER_STEP = 8

/** Substring search is native code: this many characters take as long as a step. */
export const CHARACTERS_PER_STEP = 64
