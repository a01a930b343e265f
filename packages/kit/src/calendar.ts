/**
 * Proleptic Gregorian calendar in UTC, built on `Date` arithmetic. It reads no clock and knows no
 * time zones. Years below 100 are taken literally; `Date.UTC` would add 1900.
 */

/** Date and time as a clock displays them. */
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

/** Converts milliseconds since 1970. For a local time, add the UTC offset first. */
export function toWallTime(ms: number): WallTime {
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

/**
 * Start of a day in milliseconds since 1970. Months and days out of range overflow into the next
 * ones.
 */
export function dayStartMs(year: number, month: number, day: number): number {
  return new Date(0).setUTCFullYear(year, month - 1, day)
}

export function daysInMonth(year: number, month: number): number {
  return new Date(dayStartMs(year, month + 1, 0)).getUTCDate()
}

/** Division that rounds down, as times before 1970 require. `/` on bigints rounds towards zero. */
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
