/** What one policy may cost: its text comes from any caller who may upload a policy. */

/**
 * UTF-16 units of one text: as long as the upload of a policy may be, for what is stored must be
 * able to pass.
 */
export const SOURCE_LENGTH_MAX = 10 * 1024 * 1024

/** Tokens of one text: this many compile in about 3 s and 250 MB, within what a policy may take. */
export const TOKEN_COUNT_MAX = 1_000_000

/** Expressions and blocks inside one another: keeps every recursive pass on the stack. */
export const NESTING_DEPTH_MAX = 200

/** Operators in one chain such as `a + b + …`: it leans to the left, one level per operator. */
export const OPERATOR_CHAIN_MAX = 1000

/** Problems reported for one policy. */
export const PROBLEM_COUNT_MAX = 10

/** Functions that wait for one another. */
export const CALL_DEPTH_MAX = 500

/** Calls, iterations and elements touched by one evaluation, unless the caller says otherwise. */
export const STEPS_MAX = 50_000_000

/** Characters that an operation may produce for the price of one step. */
export const CHARACTERS_PER_STEP = 64

/** Elements and characters (in units of 64) held at most by everything an evaluation made. */
export const CELLS_MAX = 20_000_000

/** Characters of one text value. */
export const STRING_LENGTH_MAX = 16 * 1024 * 1024

/** Values inside one another, when they are compared, shown or read from JSON. */
export const VALUE_DEPTH_MAX = 1000

/** Characters of everything `print` says in one evaluation. */
export const PRINT_LENGTH_MAX = 64 * 1024

/** Characters of a value in a report; the rest is cut and the cut is shown. */
export const SHOWN_LENGTH_MAX = 2000

/** Where less of a text would be left, none is: the beginning of a secret is not known for one. */
export const CUT_LENGTH_MIN = 100

/** Characters of a quoted expression in a report. */
export const QUOTED_LENGTH_MAX = 200

/** Failing expressions reported for one rule. */
export const FAILURES_PER_RULE_MAX = 20

/** Characters of one regular expression. */
export const PATTERN_LENGTH_MAX = 4096

/** Instructions of one regular expression: `(a{900}){9}` is short and stands for many. */
export const PATTERN_SIZE_MAX = 20_000

/** Instructions times characters of a search that cost one step. */
export const SEARCH_WORK_PER_STEP = 16

/** Compiled regular expressions kept by one evaluation. */
export const PATTERN_CACHE_MAX = 200
