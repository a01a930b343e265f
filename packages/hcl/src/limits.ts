/**
 * Limits of one text. Any caller who may submit a job, a policy or a variable file can send one.
 */

/** Maximum length in UTF-16 units. The largest known job files are far below one megabyte. */
export const SOURCE_LENGTH_MAX = 8 * 1024 * 1024

/**
 * Maximum number of tokens; each takes up to a few hundred bytes in the tree. Corresponds to about
 * forty thousand lines.
 */
export const TOKEN_COUNT_MAX = 200_000

/**
 * Maximum nesting of brackets, blocks, templates and unary operators; prevents a stack overflow in
 * the recursive parser.
 */
export const NESTING_DEPTH_MAX = 200

/** Maximum number of diagnostics; further ones are often consequences of the first ones. */
export const DIAGNOSTIC_COUNT_MAX = 50

/**
 * Maximum steps of one evaluation. A step is a visited node, an iterated element, or
 * `CHARACTERS_PER_STEP` produced characters.
 */
export const EVALUATION_STEPS_MAX = 2_000_000

/** Copying this many characters in native code takes as long as a step. */
export const CHARACTERS_PER_STEP = 32

/**
 * A decoded block takes more memory than a value. This cost limits expanded blocks to about
 * 100,000.
 */
export const STEPS_PER_BLOCK = 20

/** Maximum length of one produced string in UTF-16 units. */
export const STRING_LENGTH_MAX = 4 * 1024 * 1024

/**
 * Maximum number of elements, names and characters of a serialized value: sharing makes a value
 * small in memory but not on the wire.
 */
export const VALUE_SIZE_MAX = 16 * 1024 * 1024

/** Maximum nesting of collections in a value; prevents a stack overflow in recursive readers. */
export const VALUE_DEPTH_MAX = 300

/** Maximum length of a name or text quoted in a message. */
export const QUOTED_LENGTH_MAX = 64
