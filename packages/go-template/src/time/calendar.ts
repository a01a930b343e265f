/** A wall clock: what a clock of a zone shows. */
export interface ClockFace {
  readonly year: number
  readonly month: number
  readonly day: number
  readonly hour: number
  readonly minute: number
  readonly second: number
  readonly nanosecond: number
  /** 0 is Sunday. */
  readonly weekday: number
  /** 1 is the first of January. */
  readonly yearDay: number
  /** Seconds ahead of UTC. */
  readonly offset: number
  /** What the zone is called, if that is known. */
  readonly zone: string | undefined
}

const NS_PER_SECOND = 1_000_000_000n
const SECONDS_PER_DAY = 86_400

export function floorDivide(value: bigint, by: bigint): bigint {
  const quotient = value / by
  return value % by < 0n ? quotient - 1n : quotient
}

export function clockFace(ns: bigint, offset: number, zone?: string): ClockFace {
  const seconds = Number(floorDivide(ns, NS_PER_SECOND)) + offset
  const date = new Date(seconds * 1000)
  const year = date.getUTCFullYear()
  const start = utcSeconds([year, 1, 1])
  return {
    year,
    month: date.getUTCMonth() + 1,
    day: date.getUTCDate(),
    hour: date.getUTCHours(),
    minute: date.getUTCMinutes(),
    second: date.getUTCSeconds(),
    nanosecond: Number(((ns % NS_PER_SECOND) + NS_PER_SECOND) % NS_PER_SECOND),
    weekday: date.getUTCDay(),
    yearDay: Math.floor((seconds - start) / SECONDS_PER_DAY) + 1,
    offset,
    zone,
  }
}

/** Seconds since 1970 of midnight; months and days beyond their ends go on in the next ones. */
export function utcSeconds([year, month, day]: readonly [number, number, number]): number {
  return new Date(0).setUTCFullYear(year, month - 1, day) / 1000
}

export function daysIn(year: number, month: number): number {
  return new Date(utcSeconds([year, month + 1, 0]) * 1000).getUTCDate()
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
