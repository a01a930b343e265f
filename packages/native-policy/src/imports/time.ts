import { floorDivide, MONTHS, toWallTime, WEEKDAYS } from '@reeve/kit/calendar.ts'
import { createMap } from '../value/map.ts'
import {
  type CallContext,
  isInt,
  isMap,
  isNumeric,
  type MapValue,
  toNumber,
  typeOf,
  type Value,
  wrapInt,
} from '../value/value.ts'
import { typed } from './define.ts'

/** The time of the evaluation and the UTC offset of its time zone. */
export interface TimeSettings {
  readonly nowNs: bigint
  readonly zone: string
  /** Seconds east of UTC at a given time. */
  readonly offsetSeconds: (ms: number) => number
}

const NS_PER_MS = 1_000_000n
const NS_PER_SECOND = 1_000_000_000n
const STAMP =
  /^(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2}:\d{2})(?:\.(\d{1,9})\d*)?([Zz]|[+-]\d{2}:\d{2})$/

/** The import `time`. Time does not advance while a policy runs. */
export function timeImport(settings: TimeSettings): MapValue {
  return createMap({
    now: timespace(settings.nowNs, settings),
    load: typed('load', ['any'], ([value], context) =>
      timespace(momentOf(value, context), settings),
    ),
    nanosecond: 1,
    microsecond: 1_000,
    millisecond: 1_000_000,
    second: 1_000_000_000,
    minute: 60_000_000_000,
    hour: 3_600_000_000_000,
  })
}

/** Accepts Unix seconds, RFC 3339 strings and values created by `time`. */
function momentOf(value: Value, context: CallContext): bigint {
  if (isInt(value)) return BigInt(value) * NS_PER_SECOND
  if (isNumeric(value)) return BigInt(Math.round(toNumber(value) * 1e9))
  if (typeof value === 'string')
    return parseStamp(value) ?? context.fail(`${JSON.stringify(value)} is no time`)
  const known = isMap(value) ? value.get('unix_nano') : undefined
  if (known !== undefined && isInt(known)) return BigInt(known)
  return context.fail(`a time is needed, not ${typeOf(value)}`)
}

function parseStamp(text: string): bigint | undefined {
  const [, date, clock, fraction = '', zone = ''] = STAMP.exec(text) ?? []
  const ms = Date.parse(`${date}T${clock}${zone.toUpperCase()}`)
  if (Number.isNaN(ms)) return undefined
  return BigInt(ms) * NS_PER_MS + BigInt(fraction.padEnd(9, '0'))
}

function timespace(ns: bigint, settings: TimeSettings): MapValue {
  const ms = Number(floorDivide(ns, NS_PER_MS))
  const offset = settings.offsetSeconds(ms)
  const { weekday, month, day, year, hour, minute, second } = toWallTime(ms + offset * 1000)
  const order = (test: (difference: bigint) => boolean) =>
    typed('time', ['any'], ([other], context) => test(ns - momentOf(other, context)))
  return createMap({
    hour,
    minute,
    second,
    day,
    month,
    month_name: MONTHS[month - 1] ?? '',
    weekday,
    weekday_name: WEEKDAYS[weekday] ?? '',
    year,
    unix: Number(floorDivide(ns, NS_PER_SECOND)),
    unix_nano: wrapInt(ns),
    zone: offset,
    zone_string: settings.zone,
    before: order((difference) => difference < 0n),
    after: order((difference) => difference > 0n),
    equal: order((difference) => difference === 0n),
    add: typed('add', ['int'], ([amount]) => timespace(ns + BigInt(amount), settings)),
    sub: typed('sub', ['any'], ([other], context) => wrapInt(ns - momentOf(other, context))),
  })
}
