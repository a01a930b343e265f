import { daysInMonth, dayStartMs, toWallTime, type WallTime } from '@reeve/kit/calendar.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'

/** A point in time with the UTC offset it was written with. */
export interface Moment {
  readonly ms: number
  readonly offsetMinutes: number
}

const RFC3339 =
  /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d))$/

const TIMESTAMP_RULE = 'must be a time like "2006-01-02T15:04:05Z" (RFC 3339)'

export function parseTimestamp(text: string): Result<Moment, string> {
  const match = RFC3339.exec(text)
  if (match === null) return err(TIMESTAMP_RULE)
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match
    .slice(1, 7)
    .map(Number)
  const [, , , , , , , fraction = '', sign = '+', aheadHours = '0', aheadMinutes = '0'] = match
  if (month < 1 || month > 12 || day < 1 || day > daysInMonth(year, month))
    return err(`${TIMESTAMP_RULE}, but there is no such day`)
  if (
    hour > 23 ||
    minute > 59 ||
    second > 59 ||
    Number(aheadHours) > 24 ||
    Number(aheadMinutes) > 59
  )
    return err(`${TIMESTAMP_RULE}, but there is no such time of day`)
  const offset = Number(aheadHours) * 60 + Number(aheadMinutes)
  const offsetMinutes = sign === '-' ? -offset : offset
  const local = dayStartMs(year, month, day) + ((hour * 60 + minute) * 60 + second) * 1000
  const ms = local - offsetMinutes * MS_PER_MINUTE + Number(`0.${fraction}`) * 1000
  return ok({ ms, offsetMinutes: offsetMinutes === 0 ? 0 : offsetMinutes })
}

const MS_PER_MINUTE = 60_000

/** The local date and time at the offset. */
export function localTime({ ms, offsetMinutes }: Moment): WallTime {
  return toWallTime(Math.floor(ms) + offsetMinutes * MS_PER_MINUTE)
}

/** RFC 3339 without fractional seconds; undefined if the year does not have four digits. */
export function formatTimestamp(moment: Moment): string | undefined {
  const { year, month, day, hour, minute, second } = localTime(moment)
  if (!(year >= 0 && year <= 9999)) return undefined
  const date = [padNumber(year, 4), padNumber(month), padNumber(day)].join('-')
  const time = [padNumber(hour), padNumber(minute), padNumber(second)].join(':')
  return `${date}T${time}${moment.offsetMinutes === 0 ? 'Z' : formatOffset(moment, ':')}`
}

/** For example `+02:00`, with the given separator. */
export function formatOffset({ offsetMinutes }: Moment, separator: string): string {
  const size = Math.abs(offsetMinutes)
  const sign = offsetMinutes < 0 ? '-' : '+'
  return `${sign}${padNumber(Math.floor(size / 60))}${separator}${padNumber(size % 60)}`
}

export function padNumber(value: number, length = 2): string {
  return String(value).padStart(length, '0')
}
