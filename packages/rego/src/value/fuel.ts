import { VALUE_WORK_MAX } from '../limits.ts'
import { LimitReached } from './limit-reached.ts'

/**
 * What comparing values and making keys of them may still cost. Values share their parts, so a
 * small one may be endless when it is walked, and the walkers know no evaluation.
 * The state is the module's: an evaluation never waits, so at most one is under way, and one inside
 * another (from a caller's `print`) puts back what it found.
 */
let current: { left: number } | undefined

/** Runs with a fresh allowance. Throws LimitReached when it is used up. */
export function withFuel<T>(run: () => T): T {
  const outer = current
  current = { left: VALUE_WORK_MAX }
  try {
    return run()
  } finally {
    current = outer
  }
}

/** One unit is about one visited value. Without an allowance nothing is counted. */
export function spend(units: number): void {
  if (current === undefined) return
  current.left -= units
  if (current.left < 0) throw new LimitReached('the values are too large to compare')
}
