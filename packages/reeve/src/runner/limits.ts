import { v2 } from '@reeve/contract'

export const RUN_LOG_LIMITS = {
  /** A longer line is masked in pieces. */
  lineChars: 256 * 1024,
  chunkBytes: 256 * 1024,
  flushMs: 100,
  /** Room for the sentence that says that the log is cut. */
  bytes: v2.RUN_LOG_BYTES_MAX - 1_024,
} as const

/** A state is stored when it has rested this long, and at the latest after the other time. */
export const STATE_TIMES = { lookMs: 250, restMs: 1_000, latestMs: 5_000 } as const
