/**
 * What one text may cost: it comes from any caller who may submit a job, a policy or a variable
 * file.
 */

/** UTF-16 units of one text. The largest job files seen in the wild are far below one megabyte. */
export const SOURCE_LENGTH_MAX = 8 * 1024 * 1024

/**
 * Tokens of one text; each costs up to a few hundred bytes in the tree. Forty thousand lines as
 * people write them have as many.
 */
export const TOKEN_COUNT_MAX = 200_000

/**
 * Brackets, blocks, templates and unary operators inside one another; keeps the recursive parser
 * off the end of the stack.
 */
export const NESTING_DEPTH_MAX = 200

/** Problems reported for one text; the rest would be noise, often caused by the first ones. */
export const DIAGNOSTIC_COUNT_MAX = 50

/**
 * Steps of one evaluation: a visited node, an iterated element, or `CHARACTERS_PER_STEP` produced
 * characters.
 */
export const EVALUATION_STEPS_MAX = 2_000_000

/** Copying text is native code: this many characters take as long as a step. */
export const CHARACTERS_PER_STEP = 32

/**
 * A decoded block is larger than a value; this many steps keep expanded blocks below about 100,000.
 */
export const STEPS_PER_BLOCK = 20

/** UTF-16 units of one produced string. */
export const STRING_LENGTH_MAX = 4 * 1024 * 1024

/**
 * Elements, names and characters of one value when written out: sharing makes a value small in
 * memory but not on the wire.
 */
export const VALUE_SIZE_MAX = 16 * 1024 * 1024

/**
 * Collections inside one another in one value; keeps recursive readers of a value off the end of
 * the stack.
 */
export const VALUE_DEPTH_MAX = 300

/** Characters of a name or of text quoted in a message. */
export const QUOTED_LENGTH_MAX = 64
