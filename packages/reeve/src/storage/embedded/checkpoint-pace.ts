/** Minimum batch size of a checkpoint: smaller batches would mostly consist of fsyncs. */
export const BATCH_BYTES_MIN = 256 * 1024
/** Maximum batch size: encoding this much blocks the main thread for some ten milliseconds. */
export const BATCH_BYTES_MAX = 4 * 1024 * 1024
/** Maximum growth or shrinkage between two batches: one slow fsync says little about the next. */
const GROWTH_FACTOR_MAX = 2

/** Minimum share of the main thread for a running checkpoint. */
const CPU_SHARE = 1 / 12
/** Same, if a restart after a crash would have to replay a long log. */
const CPU_SHARE_LONG_LOG = 1 / 5
/**
 * Log size after the checkpoint from which it counts as long: replaying it takes about two seconds.
 */
export const LONG_LOG_BYTES = 256 * 1024 * 1024

/** Duration of one batch. */
export interface BatchTimes {
  /** Time on the main thread for encoding the rows. */
  readonly encodeMs: number
  /** Time until the batch was durable and the main thread was free again. */
  readonly waitMs: number
}

/**
 * Size of the next checkpoint batch. On a busy server the checkpoint runs once per event-loop tick:
 * with a fixed batch size, longer ticks mean slower progress, and the checkpoint of a filling
 * cluster would never finish. So the batch grows with the waiting time of the previous one, and the
 * checkpoint keeps its share of the thread.
 */
export function nextBatchBytes(
  bytes: number,
  { encodeMs, waitMs }: BatchTimes,
  logBytes: number,
): number {
  const share = logBytes > LONG_LOG_BYTES ? CPU_SHARE_LONG_LOG : CPU_SHARE
  const targetMs = (waitMs * share) / (1 - share)
  const factor = encodeMs > 0 ? targetMs / encodeMs : GROWTH_FACTOR_MAX
  const next = bytes * Math.min(GROWTH_FACTOR_MAX, Math.max(1 / GROWTH_FACTOR_MAX, factor))
  return Math.round(Math.min(BATCH_BYTES_MAX, Math.max(BATCH_BYTES_MIN, next)))
}
