/** What one policy may cost: its text comes from any caller who may upload a policy. */

/**
 * UTF-16 units of one module: as long as the upload of a policy may be, for what is stored must be
 * able to pass.
 */
export const SOURCE_LENGTH_MAX = 10 * 1024 * 1024

/**
 * Tokens of one module. Rules of one line each cost most: this many of their tokens compile in
 * about 4 s and 250 MB, within what a policy may take.
 */
export const TOKEN_COUNT_MAX = 500_000

/** Terms, bodies and templates inside one another: keeps every recursive pass on the stack. */
export const NESTING_DEPTH_MAX = 200

/** Operators in one chain such as `a + b + …`: it leans to the left, one level per operator. */
export const OPERATOR_CHAIN_MAX = 400

/** Literals of one body, the temporary ones included: each is one level of the call stack. */
export const BODY_LITERALS_MAX = 1000

/** Problems reported for one set of modules. */
export const PROBLEM_COUNT_MAX = 10

/** Decimal digits of a number, written or computed. */
export const NUMBER_DIGITS_MAX = 4096

/** Rules that wait for one another; without recursion only a long chain of rules gets there. */
export const CALL_DEPTH_MAX = 400

/** Rule bodies entered, elements visited, calls made by one evaluation, unless the caller says. */
export const EVALUATION_STEPS_MAX = 10_000_000

/** Characters that a builtin may produce for the price of one step. */
export const CHARACTERS_PER_STEP = 64

/** Characters of one text value. */
export const STRING_LENGTH_MAX = 16 * 1024 * 1024

/** Characters of the canonical text of a composite set member or object key. */
export const KEY_LENGTH_MAX = 16 * 1024 * 1024

/** Values visited by all comparisons of one evaluation, beside its steps. */
export const VALUE_WORK_MAX = 20_000_000

/** Values inside one another, in JSON text and in results. */
export const VALUE_DEPTH_MAX = 1000

/** Values of one result, counted as written out. */
export const RESULT_NODES_MAX = 10_000_000

/** Evaluations of a comprehension in one scope before an index over it is tried. */
export const COMPREHENSION_INDEX_FROM = 8

/** Calls of a function in one scope from which on its results are kept. */
export const FUNCTION_MEMO_FROM = 16

/** Rules of one name from which on they are found by an index. */
export const RULE_INDEX_FROM = 4

/** Entries of one rule index, counting a rule once per place it is listed in. */
export const RULE_INDEX_ENTRIES_MAX = 100_000
