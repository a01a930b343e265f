/** A checkpoint is written in pieces at least this large: smaller ones would mostly be syncs. */
export const PIECE_BYTES_MIN = 256 * 1024
/** Gathering this much takes some ten milliseconds, in which nobody else is served. */
export const PIECE_BYTES_MAX = 4 * 1024 * 1024
/** A piece grows and shrinks at most by this factor: one slow sync says little about the next. */
const STEP_MAX = 2

/** The share of the main thread that a checkpoint takes at least, where it has work to do. */
const SHARE = 1 / 12
/** The same when a restart after a crash would have to apply a long log. */
const SHARE_BEHIND = 1 / 5
/** Log behind the last mark from which on it is a long one: some two seconds of a start. */
export const LONG_TAIL_BYTES = 256 * 1024 * 1024

/** How long one piece took. */
export interface PieceTimes {
  /** On the main thread, to put its rows into bytes. */
  readonly gatherMs: number
  /** Until it was durable and this thread had time again. */
  readonly waitMs: number
}

/**
 * How large the next piece of a checkpoint is. A server that is busy gives the checkpoint one turn
 * after each of its own: with pieces of one size, the longer its turns the less is written, and a
 * checkpoint of a filling cluster never ends. So a piece grows with the time that the one before
 * waited, and the checkpoint keeps its share of the thread.
 */
export function nextPieceBytes(
  bytes: number,
  { gatherMs, waitMs }: PieceTimes,
  tailBytes: number,
): number {
  const share = tailBytes > LONG_TAIL_BYTES ? SHARE_BEHIND : SHARE
  const wantedMs = (waitMs * share) / (1 - share)
  const factor = gatherMs > 0 ? wantedMs / gatherMs : STEP_MAX
  const next = bytes * Math.min(STEP_MAX, Math.max(1 / STEP_MAX, factor))
  return Math.round(Math.min(PIECE_BYTES_MAX, Math.max(PIECE_BYTES_MIN, next)))
}
