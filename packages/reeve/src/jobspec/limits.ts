/**
 * What one job file may cost beyond the limits of the language (`packages/hcl/src/limits.ts`:
 * length, tokens, nesting, steps and sizes of values, which also bound the decoded job).
 */

/** Errors, and warnings, that are told; the rest would be noise. */
export const DIAGNOSTICS_MAX = 50

/** Steps for all expressions of a file, its variables included: well under a second. */
export const JOB_FILE_STEPS_MAX = 2_000_000

/** A round of a dynamic block makes a block, a scope and labels before anything is evaluated. */
export const STEPS_PER_ROUND = 40

/** UTF-16 units of a job file and of each variable file; real ones have a hundredth of it. */
export const JOB_FILE_LENGTH_MAX = 1024 * 1024

/** Whole nanoseconds that fit the 64 bits of the wire. */
export const DURATION_NS_MAX = 2 ** 63 - 1
