/**
 * Limits of one job file, in addition to those of the language (`packages/hcl/src/limits.ts`:
 * length, tokens, nesting, steps and value sizes, which also bound the decoded job).
 */

/** Maximum number of reported errors and of warnings. */
export const DIAGNOSTICS_MAX = 50

/** Steps for all expressions of a file, including variables: well under a second. */
export const JOB_FILE_STEPS_MAX = 2_000_000

/** An iteration of a dynamic block creates a block, a scope and labels before any evaluation. */
export const STEPS_PER_ITERATION = 40

/**
 * Maximum length of a job file and of each variable file in UTF-16 units; real ones have a
 * hundredth of it.
 */
export const JOB_FILE_LENGTH_MAX = 1024 * 1024

/** The largest duration that fits the 64-bit integers of the wire format. */
export const DURATION_NS_MAX = 2 ** 63 - 1
