/**
 * Ends an evaluation from wherever it is. Thrown, not returned: it crosses every closure of the
 * running policy, and only `evaluate` at the very bottom of the stack has an answer to it.
 */
export class LimitExceeded extends Error {
  override readonly name = 'LimitReached'
}
