/** What one filter may cost: its text comes from any caller who may list something. */

/** Characters of a filter; about 350 comparisons with a UUID. */
export const MAX_TEXT_LENGTH = 16_384

/** Comparisons, connectives and quantifiers of a filter. */
export const MAX_NODES = 1_000

/**
 * Groups, negations and quantifiers inside one another; keeps the recursive parser off the end of
 * the stack.
 */
export const MAX_DEPTH = 100

/** Instructions of all regular expressions of a filter together; `.{900}` has about 900. */
export const MAX_PATTERN_INSTRUCTIONS = 2_000

/**
 * Estimated size of one regular expression, before it is compiled on the thread that answers. The
 * estimate of a valid pattern may be a few times too high.
 */
export const MAX_PATTERN_SIZE = 4 * MAX_PATTERN_INSTRUCTIONS

/**
 * Work on one row, a few milliseconds. A comparison or a visited element is one step, so
 * quantifiers inside one another over long lists end in an error instead of a stalled server.
 */
export const MAX_STEPS_PER_ROW = 100_000

/**
 * A pattern of n instructions visits at most n states per character; eight of them take as long as
 * a step.
 */
export const PATTERN_STATES_PER_STEP = 8

/** Substring search is native code: this many characters take as long as a step. */
export const CHARACTERS_PER_STEP = 64
