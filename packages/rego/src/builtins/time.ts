import { formatText } from '../value/format.ts'
import { fromBigInt, toBigInt, type NumberValue } from '../value/number.ts'
import { isArray, isNumber, kindOf, type Value } from '../value/value.ts'
import { define, typeMismatch, type Builtin, type CallContext } from './builtin.ts'
import {
  toDateTimeFields,
  type DateTimeFields,
  parseDuration,
  parseTime,
  formatTime,
} from '@reeve/go-template/time'
import { daysInMonth, floorDivide, dayStartMs, WEEKDAYS } from '@reeve/kit/calendar.ts'
import { chargeForString, smallWholeOf } from './operands.ts'

const NS_MIN = -(2n ** 63n)
const NS_MAX = 2n ** 63n - 1n

/** A moment, or `[moment, zone]`, or `[moment, zone, layout]`. */
const MOMENT = ['number', 'array'] as const

const RFC3339_NANO = '2006-01-02T15:04:05.999999999Z07:00'

const NAMED_LAYOUTS: ReadonlyMap<string, string> = new Map([
  ['ANSIC', 'Mon Jan _2 15:04:05 2006'],
  ['UnixDate', 'Mon Jan _2 15:04:05 MST 2006'],
  ['RubyDate', 'Mon Jan 02 15:04:05 -0700 2006'],
  ['RFC822', '02 Jan 06 15:04 MST'],
  ['RFC822Z', '02 Jan 06 15:04 -0700'],
  ['RFC850', 'Monday, 02-Jan-06 15:04:05 MST'],
  ['RFC1123', 'Mon, 02 Jan 2006 15:04:05 MST'],
  ['RFC1123Z', 'Mon, 02 Jan 2006 15:04:05 -0700'],
  ['RFC3339', '2006-01-02T15:04:05Z07:00'],
  ['RFC3339Nano', RFC3339_NANO],
])

export const TIME_BUILTINS: readonly Builtin[] = [
  define({ name: 'time.now_ns', operands: [], result: 'number' }, (context) =>
    fromBigInt(context.nowNs),
  ),
  define(
    { name: 'time.parse_rfc3339_ns', operands: ['string'], result: 'number' },
    (context, text) => parseWith(context, '2006-01-02T15:04:05Z07:00', text),
  ),
  define(
    { name: 'time.parse_ns', operands: ['string', 'string'], result: 'number' },
    (context, layout, text) => parseWith(context, NAMED_LAYOUTS.get(layout) ?? layout, text),
  ),
  define(
    { name: 'time.parse_duration_ns', operands: ['string'], result: 'number' },
    (context, text) => {
      const ns = parseDuration(text)
      return ns === undefined
        ? context.fail(`time: invalid duration ${JSON.stringify(text)}`)
        : fromBigInt(ns)
    },
  ),
  define({ name: 'time.format', operands: [MOMENT], result: 'string' }, (context, value) => {
    const moment = momentOf(context, value)
    if (moment === undefined) return undefined
    const layout = moment.layout === '' ? RFC3339_NANO : moment.layout
    chargeForString(context, layout.length)
    return formatTime(faceOf(moment), NAMED_LAYOUTS.get(layout) ?? layout)
  }),
  reading('time.date', 'array', ({ year, month, day }) => [year, month, day]),
  reading('time.clock', 'array', ({ hour, minute, second }) => [hour, minute, second]),
  reading('time.weekday', 'string', ({ weekday }) => WEEKDAYS[weekday] ?? ''),
  define(
    { name: 'time.add_date', operands: [MOMENT, 'number', 'number', 'number'], result: 'number' },
    addDate,
  ),
  define({ name: 'time.diff', operands: [MOMENT, MOMENT], result: 'array' }, (context, a, b) => {
    const first = momentOf(context, a)
    if (first === undefined) return undefined
    const second = momentOf(context, b)
    if (second === undefined) return undefined
    // Both on the clock of the first.
    const moved = { ...second, zone: first.zone, offsetAt: first.offsetAt }
    return first.ns > second.ns ? difference(moved, first) : difference(first, moved)
  }),
]

function reading(
  name: string,
  result: 'array' | 'string',
  read: (face: DateTimeFields) => Value,
): Builtin {
  return define({ name, operands: [MOMENT], result }, (context, value) => {
    const moment = momentOf(context, value)
    return moment === undefined ? undefined : read(faceOf(moment))
  })
}

function parseWith(context: CallContext, layout: string, text: string): Value | undefined {
  chargeForString(context, layout.length + text.length)
  const ns = parseTime(layout, text)
  return ns === undefined
    ? context.fail(
        `parsing time ${JSON.stringify(text)} as ${JSON.stringify(layout)}: cannot parse it`,
      )
    : inRange(context, ns)
}

function inRange(context: CallContext, ns: bigint): NumberValue | undefined {
  return ns < NS_MIN || ns > NS_MAX ? context.fail('time outside of valid range') : fromBigInt(ns)
}

interface Moment {
  readonly ns: bigint
  readonly zone: string
  readonly layout: string
  /** Seconds ahead of UTC at so many seconds since 1970. */
  readonly offsetAt: (seconds: number) => number
}

const WANTED = 'operand 1 must be either number (ns) or [number (ns), string (tz)]'

function momentOf(context: CallContext, value: NumberValue | readonly Value[]): Moment | undefined {
  const [number, zone = '', layout = ''] = isArray(value) ? value : [value]
  if (number === undefined) return context.failType(`${WANTED} but got array`)
  if (!isNumber(number)) return context.failType(typeMismatch(1, 'number', kindOf(number)))
  for (const text of [zone, layout])
    if (typeof text !== 'string') return context.failType(typeMismatch(1, 'string', kindOf(text)))
  const ns = toBigInt(number)
  if (ns === undefined || ns < NS_MIN || ns > NS_MAX) return context.fail('timestamp too big')
  const name = zone === '' ? 'UTC' : formatText(zone)
  const offsetAt = zoneClock(context, name)
  return offsetAt === undefined
    ? undefined
    : { ns, zone: name, layout: formatText(layout), offsetAt }
}

function zoneClock(context: CallContext, zone: string): Moment['offsetAt'] | undefined {
  if (zone === 'UTC' || zone === 'Local') return () => 0
  const { offsetAt } = context
  if (offsetAt === undefined || !/^[A-Za-z0-9_+/-]{1,64}$/.test(zone))
    return context.fail(`unknown time zone ${zone}`)
  try {
    offsetAt(zone, 0)
  } catch (thrown) {
    // The host does not know the zone (see `CallContext.offsetAt`).
    if (!(thrown instanceof RangeError)) throw thrown
    return context.fail(`unknown time zone ${zone}`)
  }
  return (seconds) => Math.round(offsetAt(zone, seconds * 1000) / 1000)
}

function faceOf({ ns, zone, offsetAt }: Moment): DateTimeFields {
  const offset = offsetAt(Number(floorDivide(ns, 1_000_000_000n)))
  return toDateTimeFields(ns, offset, zone === 'UTC' || zone === 'Local' ? 'UTC' : undefined)
}

/** The same time of day so many years, months and days later, on the clock of the zone. */
function addDate(
  context: CallContext,
  value: NumberValue | readonly Value[],
  ...steps: readonly [NumberValue, NumberValue, NumberValue]
): Value | undefined {
  const moment = momentOf(context, value)
  if (moment === undefined) return undefined
  const [years, months, days] = steps.map((step, at) => smallWholeOf(context, step, at + 2))
  if (years === undefined || months === undefined || days === undefined) return undefined
  const face = faceOf(moment)
  const midnight = dayStartMs(face.year + years, face.month + months, face.day + days) / 1000
  if (!Number.isFinite(midnight)) return context.fail('time outside of valid range')
  const local = midnight + face.hour * 3600 + face.minute * 60 + face.second
  const seconds = fromLocal(moment, local)
  return inRange(context, BigInt(seconds) * 1_000_000_000n + BigInt(face.nanosecond))
}

/** The offset depends on the moment and the moment on the offset: a second look settles it. */
function fromLocal({ offsetAt }: Moment, local: number): number {
  const first = local - offsetAt(local)
  return local - offsetAt(first)
}

/** Years, months, days, hours, minutes and seconds from the first to the second. */
function difference(first: Moment, second: Moment): readonly number[] {
  const [from, to] = [faceOf(first), faceOf(second)]
  let [years, months, days] = [to.year - from.year, to.month - from.month, to.day - from.day]
  let [hours, minutes, seconds] = [
    to.hour - from.hour,
    to.minute - from.minute,
    to.second - from.second,
  ]
  if (seconds < 0) {
    seconds += 60
    minutes--
  }
  if (minutes < 0) {
    minutes += 60
    hours--
  }
  if (hours < 0) {
    hours += 24
    days--
  }
  if (days < 0) {
    days += daysInMonth(from.year, from.month)
    months--
  }
  if (months < 0) {
    months += 12
    years--
  }
  return [years, months, days, hours, minutes, seconds]
}
