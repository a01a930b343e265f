import { v2 } from '@reeve/contract'

export const RUN_LOG_LIMITS = {
  /** Longer lines are masked in pieces. */
  lineChars: 256 * 1024,
  chunkBytes: 256 * 1024,
  flushMs: 100,
  /** Leaves room for the message that the log was truncated. */
  bytes: v2.RUN_LOG_BYTES_MAX - 1_024,
} as const

/**
 * A state is uploaded when its file has been unchanged for `restMs`, and at the latest after
 * `latestMs`.
 */
export const STATE_UPLOAD_TIMES = { lookMs: 250, restMs: 1_000, latestMs: 5_000 } as const
