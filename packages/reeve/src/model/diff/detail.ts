import { LIMITS } from '../limits.ts'

/** How much a diff tells. */
export interface Detail {
  /** Whether objects that changed also show their fields that did not. */
  readonly contextual: boolean
  /** What may still be told value by value. */
  readonly left: () => number
  /** Whether so many values may be told one by one; if so, they count. */
  readonly take: (count: number) => boolean
}

/**
 * A job is what its submitter made it, and two of a million values would keep the server from
 * everybody else. Beyond the limit a collection is told as one text, and an object by its name
 * alone.
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
