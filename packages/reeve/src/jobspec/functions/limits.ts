/** Limits of one function call. All other work is bounded by the step budget of the evaluation. */

/** Maximum length of a `range` result. */
export const RANGE_VALUES_MAX = 1_024

/** Maximum width and precision of a format verb. */
export const FORMAT_WIDTH_MAX = 10_000

/** Maximum spaces of `indent`. */
export const INDENT_SPACES_MAX = 1_000

/**
 * Maximum cost of `bcrypt` (binary logarithm of the rounds). 10, the default, takes about 100 ms;
 * each further one doubles it.
 */
export const BCRYPT_COST_MAX = 10
export const BCRYPT_COST_MIN = 4
export const BCRYPT_COST_DEFAULT = 10

/** Bytes of a password that `bcrypt` uses; longer passwords are rejected instead of truncated. */
export const BCRYPT_PASSWORD_BYTES_MAX = 72

/** Steps charged per round of `bcrypt`: three calls at the default cost fit into the budget. */
export const STEPS_PER_BCRYPT_ROUND = 600

/** Maximum key size for `rsadecrypt`; the time of a decryption grows with its cube. */
export const RSA_BITS_MAX = 4_096

/** Steps charged for one `rsadecrypt`: about 30 ms with the largest key. */
export const STEPS_PER_RSA = 200_000

/** Maximum length of a regular expression and of its program: `(.{900}){900}` is short but huge. */
export const PATTERN_CHARACTERS_MAX = 4_096
export const PATTERN_INSTRUCTIONS_MAX = 2_000

/**
 * One search may scan the whole rest of the text. Each character costs a fraction of a step, and
 * more for a large program; measured, a full budget then takes about half a second.
 */
export const PATTERN_CHARACTERS_PER_STEP = 2
export const PATTERN_INSTRUCTIONS_FREE = 32
export const PATTERN_INSTRUCTIONS_PER_STEP = 8

/** Hashing is computation, not copying: steps charged per byte. */
export const STEPS_PER_HASHED_BYTE = 0.25

/** Minimum bytes charged per hash, for padding and setup. */
export const HASHED_BYTES_MIN = 256

/** Parsers read character by character: steps charged per character. */
export const STEPS_PER_DECODED_CHARACTER = 0.25
export const STEPS_PER_YAML_CHARACTER = 1

/** Characters that are split into graphemes per step. */
export const CLUSTER_CHARACTERS_PER_STEP = 1

/** Maximum subnets of one `cidrsubnets`. */
export const SUBNETS_MAX = 1_024

/** Maximum directory levels that `fileset` searches with `**`. */
export const FILESET_DEPTH_MAX = 32
