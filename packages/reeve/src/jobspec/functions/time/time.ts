import { err, ok, type Result } from '@reeve/kit/result.ts'
import { parseDurationNs } from '@reeve/kit/duration.ts'
import { type FunctionDefinition, quoteText } from '@reeve/hcl'
import { MONTHS, WEEKDAYS, type WallTime } from '@reeve/kit/calendar.ts'
import { text } from '../argument.ts'
import { define, failArgument } from '../define.ts'
import {
  formatOffset,
  formatTimestamp,
  localTime,
  type Moment,
  padNumber,
  parseTimestamp,
} from './timestamp.ts'

export function timeFunctions(nowMs?: number): Readonly<Record<string, FunctionDefinition>> {
  return nowMs === undefined
    ? pureTimeFunctions
    : { ...pureTimeFunctions, ...clockFunctions(nowMs) }
}

/** Quoted text, a run of one letter, or other characters. */
const TOKEN = /'(?:[^']|'')*'|'|([a-zA-Z])\1*|[^a-zA-Z']+/g

const monthName = ({ month }: WallTime) => MONTHS[month - 1] ?? ''
const dayName = ({ weekday }: WallTime) => WEEKDAYS[weekday] ?? ''
const halfDayHour = ({ hour }: WallTime) => hour % 12 || 12

const WRITERS: ReadonlyMap<string, Writer> = new Map<string, Writer>([
  ['YYYY', ({ year }) => padNumber(year, 4)],
  ['YY', ({ year }) => padNumber(year % 100)],
  ['MMMM', monthName],
  ['MMM', (face) => monthName(face).slice(0, 3)],
  ['MM', ({ month }) => padNumber(month)],
  ['M', ({ month }) => String(month)],
  ['DD', ({ day }) => padNumber(day)],
  ['D', ({ day }) => String(day)],
  ['EEEE', dayName],
  ['EEE', (face) => dayName(face).slice(0, 3)],
  ['hh', ({ hour }) => padNumber(hour)],
  ['h', ({ hour }) => String(hour)],
  ['HH', (face) => padNumber(halfDayHour(face))],
  ['H', (face) => String(halfDayHour(face))],
  ['AA', ({ hour }) => (hour < 12 ? 'AM' : 'PM')],
  ['aa', ({ hour }) => (hour < 12 ? 'am' : 'pm')],
  ['mm', ({ minute }) => padNumber(minute)],
  ['m', ({ minute }) => String(minute)],
  ['ss', ({ second }) => padNumber(second)],
  ['s', ({ second }) => String(second)],
  ['ZZZZZ', (_, moment) => formatOffset(moment, ':')],
  ['ZZZZ', (_, moment) => formatOffset(moment, '')],
  ['ZZZ', (_, moment) => (moment.offsetMinutes === 0 ? 'UTC' : formatOffset(moment, ''))],
  ['Z', (_, moment) => (moment.offsetMinutes === 0 ? 'Z' : formatOffset(moment, ':'))],
])

const pureTimeFunctions: Readonly<Record<string, FunctionDefinition>> = {
  formatdate: define([text('format'), text('time')], ([format, time]) => {
    const moment = parseTimestamp(time)
    if (!moment.ok) return failArgument(1, `time ${moment.error}`)
    const date = formatDate(format, moment.value)
    return date.ok ? date : failArgument(0, `format ${date.error}`)
  }),
  timeadd: define([text('timestamp'), text('duration')], ([timestamp, duration]) => {
    const moment = parseTimestamp(timestamp)
    if (!moment.ok) return failArgument(0, `timestamp ${moment.error}`)
    const ns = parseDurationNs(duration)
    if (ns === undefined)
      return failArgument(1, 'duration must be like "1h30m"; units are h, m, s, ms, us and ns')
    const later = formatTimestamp({ ...moment.value, ms: moment.value.ms + ns / 1e6 })
    return later === undefined ? failArgument(1, 'duration leads beyond the year 9999') : ok(later)
  }),
}

/** The time of the evaluation, equal for all calls. */
function clockFunctions(nowMs: number): Readonly<Record<string, FunctionDefinition>> {
  const now = formatTimestamp({ ms: nowMs, offsetMinutes: 0 })
  return now === undefined ? {} : { timestamp: define([], () => ok(now)) }
}

/** Formats a date: letters are fields, `'text'` is literal. An error continues after `format`. */
function formatDate(format: string, moment: Moment): Result<string, string> {
  const wallTime = localTime(moment)
  const parts: string[] = []
  for (const [token] of format.matchAll(TOKEN)) {
    const part = formatToken(token, wallTime, moment)
    if (!part.ok) return part
    parts.push(part.value)
  }
  return ok(parts.join(''))
}

function formatToken(token: string, wallTime: WallTime, moment: Moment): Result<string, string> {
  if (token === "'") return err("has a ' without its closing '")
  if (token.startsWith("'")) return ok(unquote(token))
  if (!/^[a-zA-Z]/.test(token)) return ok(token)
  const write = WRITERS.get(token)
  if (write !== undefined) return ok(write(wallTime, moment))
  const known = [...WRITERS.keys()].filter((one) => one[0] === token[0])
  const wanted =
    known.length === 0 ? "quote letters that stand for themselves: 'text'" : known.join(', ')
  return err(
    `has ${quoteText(token)}, which is no part of a time; ${known.length === 0 ? wanted : `write ${wanted}`}`,
  )
}

/** `''` is a quote, inside and outside of quotes. */
function unquote(token: string): string {
  return token === "''" ? "'" : token.slice(1, -1).replaceAll("''", "'")
}

type Writer = (face: WallTime, moment: Moment) => string
