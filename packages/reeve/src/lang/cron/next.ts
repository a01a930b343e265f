import { daysInMonth, dayStartMs, toWallTime } from '@reeve/kit/calendar.ts'
import { type CronExpression, type DayRule, nthKey } from './parse.ts'

/**
 * The UTC offset of a time zone at a time, in milliseconds. Pure code receives this function,
 * because the time zone database is the host's.
 */
export type OffsetAt = (zone: string, ms: number) => number

interface CronSearch {
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

/**
 * The first local time from `wallMs` on that matches the expression; undefined if there is none.
 * Local times are written as if they were UTC. Visits at most 130 years of days, each once.
 */
function nextWallTime(expression: CronExpression, wallMs: number): number | undefined {
  const start = toWallTime(wallMs)
  for (const year of expression.years) {
    if (year < start.year) continue
    for (const month of expression.months) {
      if (year === start.year && month < start.month) continue
      const found = nextInMonth(expression, { year, month }, wallMs)
      if (found !== undefined) return found
    }
  }
  return undefined
}

interface Month {
  readonly year: number
  readonly month: number
}

const DAY_MS = 86_400_000

function nextInMonth(expression: CronExpression, month: Month, wallMs: number): number | undefined {
  const dayCount = daysInMonth(month.year, month.month)
  const firstMs = dayStartMs(month.year, month.month, 1)
  const info = { dayCount, firstWeekday: toWallTime(firstMs).weekday }
  for (let day = 1; day <= dayCount; day++) {
    const dayMs = firstMs + (day - 1) * DAY_MS
    if (dayMs + DAY_MS <= wallMs || !matchesDay(expression.days, day, info)) continue
    const time = nextTimeOfDay(expression, Math.max(0, wallMs - dayMs) / 1_000)
    if (time !== undefined) return dayMs + time * 1_000
  }
  return undefined
}

interface MonthInfo {
  readonly dayCount: number
  /** Day of the week of the first of the month. */
  readonly firstWeekday: number
}

/** If both fields restrict the day, either one matches. */
function matchesDay(rule: DayRule, day: number, month: MonthInfo): boolean {
  if (!rule.restrictsMonth && !rule.restrictsWeek) return true
  return (
    (rule.restrictsMonth && matchesDayOfMonth(rule, day, month)) ||
    (rule.restrictsWeek && matchesDayOfWeek(rule, day, month))
  )
}

function matchesDayOfMonth(rule: DayRule, day: number, month: MonthInfo): boolean {
  if (rule.ofMonth.has(day)) return true
  if (rule.lastDay && day === month.dayCount) return true
  if (rule.lastWeekday && day === nearestWeekday(month.dayCount, month)) return true
  if (rule.nearestWeekdayTo.size === 0) return false
  // The nearest weekday is at most two days away.
  for (let near = Math.max(1, day - 2); near <= Math.min(month.dayCount, day + 2); near++)
    if (rule.nearestWeekdayTo.has(near) && nearestWeekday(near, month) === day) return true
  return false
}

/** Saturday becomes Friday and Sunday becomes Monday, or the reverse at the ends of the month. */
function nearestWeekday(day: number, month: MonthInfo): number {
  const weekday = weekdayOf(day, month)
  if (weekday === 6) return day === 1 ? 3 : day - 1
  if (weekday === 0) return day === month.dayCount ? day - 2 : day + 1
  return day
}

function matchesDayOfWeek(rule: DayRule, day: number, month: MonthInfo): boolean {
  const weekday = weekdayOf(day, month)
  return (
    rule.ofWeek.has(weekday) ||
    (rule.lastOfWeek.has(weekday) && day + 7 > month.dayCount) ||
    rule.nthOfWeek.has(nthKey(weekday, Math.ceil(day / 7)))
  )
}

function weekdayOf(day: number, { firstWeekday }: MonthInfo): number {
  return (firstWeekday + day - 1) % 7
}

/** The first matching second of the day from `from` on. */
function nextTimeOfDay(
  { hours, minutes, seconds }: CronExpression,
  from: number,
): number | undefined {
  for (const hour of hours) {
    if ((hour + 1) * 3_600 <= from) continue
    for (const minute of minutes) {
      const minuteStart = hour * 3_600 + minute * 60
      if (minuteStart + 60 <= from) continue
      const second = seconds.find((one) => minuteStart + one >= from)
      if (second !== undefined) return minuteStart + second
    }
  }
  return undefined
}
