/** Time as a capability: pure code never reads the clock, it is handed one. */
export interface Clock {
  /** Milliseconds since the Unix epoch. It jumps when somebody sets the machine's clock. */
  nowMs(): number
  /** Milliseconds since some moment, which never jump: what durations are measured with. */
  monotonicMs(): number
  /**
   * Calls `wake` once after `delayMs`; the returned function cancels it and is safe to call twice.
   */
  after(delayMs: number, wake: () => void): () => void
}

/** Makes identifiers; production draws from the system's generator, tests from a seed. */
export interface IdSource {
  /** A random version 4 UUID, lower-case with hyphens. */
  uuid(): string
}

/** Draws numbers in [0, 1). */
export interface Random {
  next(): number
}
