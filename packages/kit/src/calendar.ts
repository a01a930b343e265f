/**
 * The proleptic Gregorian calendar in UTC, on the arithmetic of `Date`: no current time, no zones.
 * Years below 100 are what they say, which `Date.UTC` would read as the twentieth century.
 */

/** What a clock shows. */
export interface WallTime {
  readonly year: number
  /** 1 is January. */
  readonly month: number
  readonly day: number
  readonly hour: number
  readonly minute: number
  readonly second: number
  /** 0 is Sunday. */
  readonly weekday: number
}

/** Milliseconds since 1970; for a clock that is ahead of UTC, add how far. */
export function wallTime(ms: number): WallTime {
  const date = new Date(ms)
  return {
    year: date.getUTCFullYear(),
    month: date.getUTCMonth() + 1,
    day: date.getUTCDate(),
    hour: date.getUTCHours(),
    minute: date.getUTCMinutes(),
    second: date.getUTCSeconds(),
    weekday: date.getUTCDay(),
  }
}

/** Midnight of a day; months and days beyond their ends go on in the next ones. */
export function midnightMs(year: number, month: number, day: number): number {
  return new Date(0).setUTCFullYear(year, month - 1, day)
}

export function daysIn(year: number, month: number): number {
  return new Date(midnightMs(year, month + 1, 0)).getUTCDate()
}

/** Rounds down, as moments before 1970 need it; `/` of bigints rounds towards zero. */
export function floorDivide(value: bigint, by: bigint): bigint {
  const quotient = value / by
  return value % by < 0n ? quotient - 1n : quotient
}

export const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
] as const

export const WEEKDAYS = [
  'Sunday',
  'Monday',
  'Tuesday',
  'Wednesday',
  'Thursday',
  'Friday',
  'Saturday',
] as const
