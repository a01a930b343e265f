import { ok } from '@reeve/kit/result.ts'
import { parseDurationNs } from '@reeve/kit/duration.ts'
import type { FunctionDefinition } from '@reeve/hcl'
import { text } from '../argument.ts'
import { formatDate } from './date-format.ts'
import { define, failArgument } from '../define.ts'
import { formatTimestamp, parseTimestamp } from './timestamp.ts'

export function timeFunctions(nowMs?: number): Readonly<Record<string, FunctionDefinition>> {
  return nowMs === undefined
    ? pureTimeFunctions
    : { ...pureTimeFunctions, ...clockFunctions(nowMs) }
}

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
