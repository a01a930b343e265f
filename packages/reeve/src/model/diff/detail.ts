import { LIMITS } from '../limits.ts'

/** Level of detail of a diff. */
export interface Detail {
  /** Whether changed objects also list their unchanged fields. */
  readonly contextual: boolean
  /** Returns the number of values that may still be listed. */
  readonly left: () => number
  /** Reports whether this number of values may be listed; if so, they count towards the limit. */
  readonly take: (count: number) => boolean
}

/**
 * Creates the level of detail. Jobs are submitted by users, and a diff of two with a million values
 * would block the server. Beyond the limit a collection is compared as one text, and an object is
 * listed by name only.
 */
export function newDetail(contextual: boolean): Detail {
  let left: number = LIMITS.diffValuesMax
  return {
    contextual,
    left: () => left,
    take(count) {
      if (count > left) return false
      left -= count
      return true
    },
  }
}
