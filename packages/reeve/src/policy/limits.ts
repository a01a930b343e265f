/** Limits of policy evaluation. */

/** Evaluation steps of one policy, on the server and in the command-line tools. */
export const POLICY_STEPS_MAX = 50_000_000

/** Number of compiled policies in the cache. */
export const COMPILED_POLICIES_MAX = 500

/**
 * Total size of the code in the cache of compiled policies. Compiled code takes up to sixty times
 * the memory of its text, and the cache must leave room for evaluations.
 */
export const COMPILED_CHARS_MAX = 4 * 1024 * 1024

/**
 * Number of values in the result of one policy, including nested ones. Results leave the worker as
 * JSON, in which values that Rego shares are duplicated.
 */
export const RESULT_VALUES_MAX = 100_000

/** Findings reported for one policy. */
export const FINDINGS_MAX = 50

/**
 * Maximum message length returned by the worker. The shorter display limit applies after redaction,
 * because a truncated secret is not recognised.
 */
export const MESSAGE_LENGTH_MAX = 8 * 1024

/** Maximum length of a value in a finding. */
export const VALUE_LENGTH_MAX = 2000
