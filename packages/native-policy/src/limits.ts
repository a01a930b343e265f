/** Limits of one policy. Any caller who may upload a policy can send one. */

/**
 * Maximum length of a policy in UTF-16 units. Equals the upload limit, so that every stored policy
 * can be read.
 */
export const SOURCE_LENGTH_MAX = 10 * 1024 * 1024

/** Maximum number of tokens; this many compile in about 3 s with 250 MB. */
export const TOKEN_COUNT_MAX = 1_000_000

/** Maximum nesting of expressions and blocks; prevents a stack overflow in recursive passes. */
export const NESTING_DEPTH_MAX = 200

/** Maximum length of an operator chain such as `a + b + …`, which nests one level per operator. */
export const OPERATOR_CHAIN_MAX = 1000

/** Maximum number of diagnostics per policy. */
export const PROBLEM_COUNT_MAX = 10

/** Maximum call depth. */
export const CALL_DEPTH_MAX = 500

/** Default maximum of calls, iterations and elements touched by one evaluation. */
export const STEPS_MAX = 50_000_000

/** Characters that an operation may produce per step. */
export const CHARACTERS_PER_STEP = 64

/** Maximum number of elements and characters (in units of 64) that one evaluation allocates. */
export const ALLOCATIONS_MAX = 20_000_000

/** Maximum length of a string. */
export const STRING_LENGTH_MAX = 16 * 1024 * 1024

/** Maximum nesting of values that are compared, formatted or read from JSON. */
export const VALUE_DEPTH_MAX = 1000

/** Maximum characters of all `print` output of one evaluation. */
export const PRINT_LENGTH_MAX = 64 * 1024

/** Maximum characters of a value in a report; longer values are truncated with an ellipsis. */
export const SHOWN_LENGTH_MAX = 2000

/**
 * Shorter truncated values are omitted: redaction would not recognise the beginning of a secret.
 */
export const CUT_LENGTH_MIN = 100

/** Maximum characters of a quoted expression in a report. */
export const QUOTED_LENGTH_MAX = 200

/** Maximum number of failing expressions reported per rule. */
export const FAILURES_PER_RULE_MAX = 20

/** Maximum characters of a regular expression. */
export const PATTERN_LENGTH_MAX = 4096

/** Maximum instructions of a regular expression: `(a{900}){9}` is short but expands to many. */
export const PATTERN_SIZE_MAX = 20_000

/** Instructions times characters of a search per step. */
export const SEARCH_WORK_PER_STEP = 16

/** Maximum number of compiled regular expressions cached by one evaluation. */
export const PATTERN_CACHE_MAX = 200
