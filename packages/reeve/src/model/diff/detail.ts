import { LIMITS } from '../limits.ts'

/** Level of detail of a diff. */
export interface DiffBudget {
  /** Whether changed objects also list their unchanged fields. */
  readonly includeUnchanged: boolean
  /** Returns the number of values that may still be listed. */
  readonly remaining: () => number
  /** Reports whether this number of values may be listed; if so, they count towards the limit. */
  readonly tryTake: (count: number) => boolean
}

/**
 * Creates the level of detail. Jobs are submitted by users, and a diff of two with a million values
 * would block the server. Beyond the limit a collection is compared as one text, and an object is
 * listed by name only.
 */
export function newDiffBudget(includeUnchanged: boolean): DiffBudget {
  let remaining: number = LIMITS.diffValuesMax
  return {
    includeUnchanged,
    remaining: () => remaining,
    tryTake(count) {
      if (count > remaining) return false
      remaining -= count
      return true
    },
  }
}
