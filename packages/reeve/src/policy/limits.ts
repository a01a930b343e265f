/** What policies may cost. */

/** Steps of one policy, on the server and with the tools. */
export const POLICY_STEPS_MAX = 50_000_000

/** Policies whose code is kept compiled. */
export const COMPILED_POLICIES_MAX = 500

/**
 * Characters of them together: the densest code takes sixty times as much memory when it is
 * compiled, and what is kept must leave the others room.
 */
export const COMPILED_CHARS_MAX = 4 * 1024 * 1024

/**
 * Values in the result of one policy, with those inside them. The result leaves the thread as plain
 * data, where parts that Rego shares are separate.
 */
export const RESULT_VALUES_MAX = 100_000

/** Findings reported for one policy. */
export const FINDINGS_MAX = 50

/**
 * Characters of a message that leaves the thread of policies, where a text may have millions. Shown
 * is less, cut when secrets were taken out of it: part of one would not be known.
 */
export const MESSAGE_LENGTH_MAX = 8 * 1024

/** Characters of a value in a finding. */
export const VALUE_LENGTH_MAX = 2000
