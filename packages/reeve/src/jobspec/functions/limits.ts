/** What one call may cost. Everything else is bounded by the meter of the evaluation. */

/** Values of one `range` (reference: job files, functions). */
export const RANGE_VALUES_MAX = 1_024

/** Width and precision of one `%` verb. */
export const FORMAT_WIDTH_MAX = 10_000

/** Spaces of one `indent`. */
export const INDENT_SPACES_MAX = 1_000

/**
 * Rounds of `bcrypt`, as a power of two: 10, which is also the default, takes about 100 ms here and
 * each further one doubles it.
 */
export const BCRYPT_COST_MAX = 10
export const BCRYPT_COST_MIN = 4
export const BCRYPT_COST_DEFAULT = 10

/** Bytes of a password that `bcrypt` takes into account; more would be cut off silently. */
export const BCRYPT_PASSWORD_BYTES_MAX = 72

/** Steps charged for one of the 2^cost rounds of `bcrypt`: three calls at the default fit. */
export const STEPS_PER_BCRYPT_ROUND = 600

/** Bits of a key for `rsadecrypt`; one decryption grows with the third power of it. */
export const RSA_BITS_MAX = 4_096

/** Steps charged for one `rsadecrypt`: about 30 ms with the largest key. */
export const STEPS_PER_RSA = 200_000

/** Length of a regular expression, and size of its program: `(.{900}){900}` is short but huge. */
export const PATTERN_CHARACTERS_MAX = 4_096
export const PATTERN_INSTRUCTIONS_MAX = 2_000

/**
 * One search may look at the whole rest of the text. Each character of it costs a share of a step,
 * and more for a large program: measured, a budget of steps is then about half a second.
 */
export const PATTERN_CHARACTERS_PER_STEP = 2
export const PATTERN_INSTRUCTIONS_FREE = 32
export const PATTERN_INSTRUCTIONS_PER_STEP = 8

/** Hashes are arithmetic, not copying: steps paid for one byte. */
export const STEPS_PER_HASHED_BYTE = 0.25

/** A hash of nothing costs as much as these many bytes: a block is filled up, tables are made. */
export const HASHED_BYTES_MIN = 256

/** Formats are read character by character: steps paid for one. */
export const STEPS_PER_DECODED_CHARACTER = 0.25
export const STEPS_PER_YAML_CHARACTER = 1

/** Characters split into what people see as one: paid with one step. */
export const CLUSTER_CHARACTERS_PER_STEP = 1

/** Subnets of one `cidrsubnets`. */
export const SUBNETS_MAX = 1_024

/** Directories below the first that `fileset` looks into with `**`. */
export const FILESET_DEPTH_MAX = 32
