/** Limits of one policy: its text comes from any caller who may upload a policy. */

/**
 * UTF-16 units of one module: as many as an upload may have, so that every stored policy can be
 * compiled.
 */
export const SOURCE_LENGTH_MAX = 10 * 1024 * 1024

/**
 * Tokens of one module. Rules of one line are the most expensive: this many tokens of them compile
 * in about 4 s and 250 MB, within the limits of a policy.
 */
export const TOKEN_COUNT_MAX = 500_000

/** Nesting of terms, bodies and templates: keeps every recursive pass within the stack. */
export const NESTING_DEPTH_MAX = 200

/** Operators in one chain such as `a + b + …`: its tree is one level deep per operator. */
export const OPERATOR_CHAIN_MAX = 400

/** Literals of one body, the temporary ones included: each is one level of the call stack. */
export const BODY_LITERALS_MAX = 1000

/** Problems reported for one set of modules. */
export const PROBLEM_COUNT_MAX = 10

/** Decimal digits of a number, written or computed. */
export const NUMBER_DIGITS_MAX = 4096

/** Nesting of rule evaluations; without recursion only a long chain of rules reaches it. */
export const CALL_DEPTH_MAX = 400

/** Default limit of rule bodies entered, elements visited and calls made by one evaluation. */
export const EVALUATION_STEPS_MAX = 10_000_000

/** Characters that a builtin may produce per step. */
export const CHARACTERS_PER_STEP = 64

/** Characters of one text value. */
export const STRING_LENGTH_MAX = 16 * 1024 * 1024

/** Characters of the canonical text of a composite set member or object key. */
export const KEY_LENGTH_MAX = 16 * 1024 * 1024

/** Values visited by all comparisons of one evaluation, in addition to its steps. */
export const VALUE_WORK_MAX = 20_000_000

/** Nesting of values, in JSON text and in results. */
export const VALUE_DEPTH_MAX = 1000

/** Values of one result, counted as serialized. */
export const RESULT_NODES_MAX = 10_000_000

/** Evaluations of a comprehension in one scope before an index is built. */
export const COMPREHENSION_INDEX_FROM = 8

/** Calls of a function in one scope before its results are cached. */
export const FUNCTION_MEMO_FROM = 16

/** Rules of one name from which an index is used. */
export const RULE_INDEX_FROM = 4

/** Entries of one rule index, counting a rule once per list that contains it. */
export const RULE_INDEX_ENTRIES_MAX = 100_000
