import type { CronExpression } from './expression.ts'
import { nextWallTime } from './wall-time.ts'

/**
 * How far a zone's wall clock is ahead of UTC at an instant, in milliseconds. The time zone
 * database is the host's, so pure code is handed this.
 */
export type OffsetAt = (zone: string, ms: number) => number

export interface CronSearch {
  readonly zone: string
  readonly afterMs: number
  readonly offsetAt: OffsetAt
}

const SECOND_MS = 1_000
const HOUR_MS = 3_600_000

/**
 * Offsets lie between −12 and +14 hours, so a wall clock never moves by more than 26 hours against
 * another of the same place. Two days are more than that.
 */
const REACH_MS = 48 * HOUR_MS
/** No zone changes its clock twice within this. */
const PROBE_MS = 6 * HOUR_MS
/** Each round ends, passes a change of the clock or leaps to two days before the answer. */
const ROUNDS_MAX = 1_000

/**
 * The first time after `afterMs` at which the zone's wall clock shows what the expression asks for,
 * in whole seconds; undefined when there is none.
 *
 * Times that a clock change skips do not happen, times that it repeats happen twice. Both follow
 * from searching in stretches of one offset each: within one, wall clock and time differ by a
 * constant.
 */
export function nextCronTime(expression: CronExpression, search: CronSearch): number | undefined {
  const offset = (ms: number): number => search.offsetAt(search.zone, ms)
  let fromMs = (Math.floor(search.afterMs / SECOND_MS) + 1) * SECOND_MS
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const ahead = offset(fromMs)
    const wall = nextWallTime(expression, fromMs + ahead)
    const foundMs = wall === undefined ? Infinity : wall - ahead
    const reachMs = fromMs + REACH_MS
    const changeMs = nextChange(offset, fromMs, Math.min(foundMs, reachMs))
    if (changeMs !== undefined) fromMs = changeMs
    else if (foundMs <= reachMs) return foundMs
    else if (wall === undefined) return undefined
    // Nothing between: the clock stays as it is for two days, and afterwards, whatever it does, it
    // shows a time before `wall` until two days before `wall`.
    else fromMs = Math.max(reachMs, foundMs - REACH_MS)
  }
  return undefined
}

/** The first instant after `fromMs`, up to `toMs`, with another offset than `fromMs` has. */
function nextChange(
  offset: (ms: number) => number,
  fromMs: number,
  toMs: number,
): number | undefined {
  const before = offset(fromMs)
  for (let low = fromMs; low < toMs;) {
    const high = Math.min(low + PROBE_MS, toMs)
    if (offset(high) !== before) return firstOther(offset, low, high)
    low = high
  }
  return undefined
}

/** `fromMs` has the old offset, `toMs` another: halves the way between them down to a second. */
function firstOther(offset: (ms: number) => number, fromMs: number, toMs: number): number {
  const before = offset(fromMs)
  let low = fromMs
  let high = toMs
  while (high - low > SECOND_MS) {
    // Rounded up, so that it is always between the two.
    const middle = low + Math.ceil((high - low) / 2 / SECOND_MS) * SECOND_MS
    if (offset(middle) === before) low = middle
    else high = middle
  }
  return high
}
