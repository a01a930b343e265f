/** Time as a capability: pure code receives a clock instead of reading the system's. */
export interface Clock {
  /** Milliseconds since the Unix epoch. Jumps when the system clock is set. */
  nowMs(): number
  /** Milliseconds since an arbitrary start. Never jumps; use it to measure durations. */
  monotonicMs(): number
  /**
   * Calls `wake` once after `delayMs`. The returned function cancels the timer and may be called
   * twice.
   */
  after(delayMs: number, wake: () => void): () => void
}

/** Creates identifiers: from the system's random generator in production, from a seed in tests. */
export interface IdSource {
  /** A random version 4 UUID, lower case with hyphens. */
  uuid(): string
}

/** Returns random numbers in [0, 1). */
export interface Random {
  next(): number
}
