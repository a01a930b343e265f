import { floorDivide, dayStartMs, toWallTime, type WallTime } from '@reeve/kit/calendar.ts'

/** Values of a time that a layout can format. */
export interface DateTimeFields extends WallTime {
  readonly nanosecond: number
  /** Day of the year, from 1. */
  readonly yearDay: number
  /** Seconds east of UTC. */
  readonly offset: number
  /** Abbreviation of the time zone, if known. */
  readonly zone: string | undefined
}

const NS_PER_SECOND = 1_000_000_000n
const MS_PER_DAY = 86_400_000

export function toDateTimeFields(ns: bigint, offset: number, zone?: string): DateTimeFields {
  const ms = (Number(floorDivide(ns, NS_PER_SECOND)) + offset) * 1000
  const time = toWallTime(ms)
  return {
    ...time,
    nanosecond: Number(((ns % NS_PER_SECOND) + NS_PER_SECOND) % NS_PER_SECOND),
    yearDay: Math.floor((ms - dayStartMs(time.year, 1, 1)) / MS_PER_DAY) + 1,
    offset,
    zone,
  }
}
