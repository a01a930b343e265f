import type { CronExpression } from './expression.ts'
import { nextWallTime } from './wall-time.ts'

/**
 * The UTC offset of a time zone at a time, in milliseconds. Pure code receives this function,
 * because the time zone database is the host's.
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
 * Offsets are between −12 and +14 hours, so local time never jumps by more than 26 hours. Two days
 * exceed that.
 */
const OFFSET_RANGE_MS = 48 * HOUR_MS
/** No zone changes its offset twice within this time. */
const OFFSET_PROBE_MS = 6 * HOUR_MS
/**
 * Each iteration finds the result, passes an offset change or skips to two days before the result.
 */
const ITERATIONS_MAX = 1_000

/**
 * The first time after `requestedMs`, in whole seconds, at which the zone's local time matches the
 * expression; undefined if there is none.
 *
 * Local times that an offset change skips do not occur; repeated ones occur twice. Both follow from
 * searching intervals of constant offset, in which local time and UTC differ by a constant.
 */
export function nextCronTime(expression: CronExpression, search: CronSearch): number | undefined {
  const offset = (ms: number): number => search.offsetAt(search.zone, ms)
  let fromMs = (Math.floor(search.afterMs / SECOND_MS) + 1) * SECOND_MS
  for (let round = 0; round < ITERATIONS_MAX; round++) {
    const offsetMs = offset(fromMs)
    const wall = nextWallTime(expression, fromMs + offsetMs)
    const foundMs = wall === undefined ? Infinity : wall - offsetMs
    const reachMs = fromMs + OFFSET_RANGE_MS
    const changeMs = nextOffsetChange(offset, fromMs, Math.min(foundMs, reachMs))
    if (changeMs !== undefined) fromMs = changeMs
    else if (foundMs <= reachMs) return foundMs
    else if (wall === undefined) return undefined
    // No match in this interval: the offset is constant for two days. After that,
    // local time is before `wall` until two days before `wall`.
    else fromMs = Math.max(reachMs, foundMs - OFFSET_RANGE_MS)
  }
  return undefined
}

/** The first time after `fromMs`, up to `toMs`, with a different offset than at `fromMs`. */
function nextOffsetChange(
  offset: (ms: number) => number,
  fromMs: number,
  toMs: number,
): number | undefined {
  const before = offset(fromMs)
  for (let low = fromMs; low < toMs;) {
    const high = Math.min(low + OFFSET_PROBE_MS, toMs)
    if (offset(high) !== before) return bisectOffsetChange(offset, low, high)
    low = high
  }
  return undefined
}

/** Bisects the offset change between `fromMs` and `toMs` to one second. */
function bisectOffsetChange(offset: (ms: number) => number, fromMs: number, toMs: number): number {
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
