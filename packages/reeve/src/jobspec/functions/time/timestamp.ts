import { err, ok, type Result } from '@reeve/kit/result.ts'

/** A moment, and how far the clock it was read from was ahead of UTC. */
export interface Moment {
  readonly ms: number
  readonly offsetMinutes: number
}

const RFC3339 =
  /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d))$/

const WANTED = 'must be a time like "2006-01-02T15:04:05Z" (RFC 3339)'

export function parseTimestamp(text: string): Result<Moment, string> {
  const match = RFC3339.exec(text)
  if (match === null) return err(WANTED)
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match
    .slice(1, 7)
    .map(Number)
  const [, , , , , , , fraction = '', sign = '+', aheadHours = '0', aheadMinutes = '0'] = match
  if (month < 1 || month > 12 || day < 1 || day > daysIn(year, month))
    return err(`${WANTED}, but there is no such day`)
  if (
    hour > 23 ||
    minute > 59 ||
    second > 59 ||
    Number(aheadHours) > 24 ||
    Number(aheadMinutes) > 59
  )
    return err(`${WANTED}, but there is no such time of day`)
  const offset = Number(aheadHours) * 60 + Number(aheadMinutes)
  const offsetMinutes = sign === '-' ? -offset : offset
  const local = utcMs([year, month, day]) + ((hour * 60 + minute) * 60 + second) * 1000
  const ms = local - offsetMinutes * MS_PER_MINUTE + Number(`0.${fraction}`) * 1000
  return ok({ ms, offsetMinutes: offsetMinutes === 0 ? 0 : offsetMinutes })
}

const MS_PER_MINUTE = 60_000

/** `Date.UTC` would read a year below 100 as one of the twentieth century. */
function utcMs([year, month, day]: readonly [number, number, number]): number {
  return new Date(0).setUTCFullYear(year, month - 1, day)
}

function daysIn(year: number, month: number): number {
  return new Date(utcMs([year, month + 1, 0])).getUTCDate()
}

/** The numbers on the clock of the moment. */
export interface ClockFace {
  readonly year: number
  readonly month: number
  readonly day: number
  /** 0 is Sunday. */
  readonly weekday: number
  readonly hour: number
  readonly minute: number
  readonly second: number
}

export function toClockFace({ ms, offsetMinutes }: Moment): ClockFace {
  const local = new Date(Math.floor(ms) + offsetMinutes * MS_PER_MINUTE)
  return {
    year: local.getUTCFullYear(),
    month: local.getUTCMonth() + 1,
    day: local.getUTCDate(),
    weekday: local.getUTCDay(),
    hour: local.getUTCHours(),
    minute: local.getUTCMinutes(),
    second: local.getUTCSeconds(),
  }
}

/** RFC 3339 without fractions of a second; undefined when the year has no four digits. */
export function formatTimestamp(moment: Moment): string | undefined {
  const { year, month, day, hour, minute, second } = toClockFace(moment)
  if (!(year >= 0 && year <= 9999)) return undefined
  const date = [padded(year, 4), padded(month), padded(day)].join('-')
  const time = [padded(hour), padded(minute), padded(second)].join(':')
  return `${date}T${time}${moment.offsetMinutes === 0 ? 'Z' : formatOffset(moment, ':')}`
}

/** `+02:00`, with the given text in the middle. */
export function formatOffset({ offsetMinutes }: Moment, separator: string): string {
  const size = Math.abs(offsetMinutes)
  const sign = offsetMinutes < 0 ? '-' : '+'
  return `${sign}${padded(Math.floor(size / 60))}${separator}${padded(size % 60)}`
}

export function padded(value: number, length = 2): string {
  return String(value).padStart(length, '0')
}
