import { VALUE_WORK_MAX } from '../limits.ts'

/**
 * Remaining budget for comparing values and building their keys. Values share parts, so traversing
 * a small one may be endless, and the traversals have no access to the evaluation. The state is
 * global to the module: evaluations are synchronous, so only one runs at a time, and a nested one
 * (from a caller's `print`) restores the previous state.
 */
let current: { left: number } | undefined

/** Runs with a fresh budget. Throws LimitExceeded if it is exhausted. */
export function withFuel<T>(run: () => T): T {
  const outer = current
  current = { left: VALUE_WORK_MAX }
  try {
    return run()
  } finally {
    current = outer
  }
}

/** Charges units of about one visited value each. Without a budget nothing is counted. */
export function spend(units: number): void {
  if (current === undefined) return
  current.left -= units
  if (current.left < 0) throw new LimitExceeded('the values are too large to compare')
}

/**
 * Ends an evaluation from wherever it is. Thrown, not returned: it crosses every closure of the
 * running policy, and only `evaluate` at the very bottom of the stack has an answer to it.
 */
export class LimitExceeded extends Error {
  override readonly name = 'LimitReached'
}
