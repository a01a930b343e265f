import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { nextCronTime, type OffsetAt } from './next.ts'
import { parseCron } from './parse.ts'

const HOUR_MS = 3_600_000

/** The clock changes of 2026, so that the tests do not depend on the host's time zone data. */
const ZONES: Readonly<Record<string, readonly [winter: number, from: string, to: string]>> = {
  'Europe/Berlin': [1, '2026-03-29T01:00:00Z', '2026-10-25T01:00:00Z'],
  'America/New_York': [-5, '2026-03-08T07:00:00Z', '2026-11-01T06:00:00Z'],
}
const offsetAt: OffsetAt = (zone, ms) => {
  const [winter, from, to] = ZONES[zone] ?? [0, '', '']
  const isSummer = ms >= Date.parse(from) && ms < Date.parse(to)
  return (winter + Number(isSummer)) * HOUR_MS
}

function next(spec: string, after: number, zone = 'UTC'): number | undefined {
  const parsed = parseCron(spec)
  assert.ok(parsed.ok, spec)
  return nextCronTime(parsed.value, { zone, afterMs: after, offsetAt })
}

/** The next times, without constant parts. */
function series(spec: string, after: string, { zone = 'UTC', count = 3 } = {}): readonly string[] {
  const found: string[] = []
  let ms: number | undefined = Date.parse(after)
  while (found.length < count) {
    ms = next(spec, ms, zone)
    if (ms === undefined) return [...found, 'never']
    found.push(new Date(ms).toISOString().replace('.000Z', 'Z'))
  }
  return found
}

const utc: readonly { spec: string; after: string; want: readonly string[] }[] = [
  {
    spec: '* * * * *',
    after: '2026-01-01T00:00:00Z',
    want: ['2026-01-01T00:01:00Z', '2026-01-01T00:02:00Z', '2026-01-01T00:03:00Z'],
  },
  {
    spec: '*/20 9-10 * * *',
    after: '2026-01-01T10:20:00.5Z',
    want: ['2026-01-01T10:40:00Z', '2026-01-02T09:00:00Z', '2026-01-02T09:20:00Z'],
  },
  {
    spec: '*/30 * * * * * *',
    after: '2026-01-01T00:00:29.999Z',
    want: ['2026-01-01T00:00:30Z', '2026-01-01T00:01:00Z', '2026-01-01T00:01:30Z'],
  },
  {
    spec: '@daily',
    after: '2026-02-27T12:00:00Z',
    want: ['2026-02-28T00:00:00Z', '2026-03-01T00:00:00Z', '2026-03-02T00:00:00Z'],
  },
  {
    spec: '@hourly',
    after: '2026-12-31T22:30:00Z',
    want: ['2026-12-31T23:00:00Z', '2027-01-01T00:00:00Z', '2027-01-01T01:00:00Z'],
  },
  {
    spec: '@weekly',
    after: '2026-01-01T00:00:00Z',
    want: ['2026-01-04T00:00:00Z', '2026-01-11T00:00:00Z', '2026-01-18T00:00:00Z'],
  },
  {
    spec: '@monthly',
    after: '2026-01-01T00:00:00Z',
    want: ['2026-02-01T00:00:00Z', '2026-03-01T00:00:00Z', '2026-04-01T00:00:00Z'],
  },
  {
    spec: '@yearly',
    after: '2026-01-01T00:00:00Z',
    want: ['2027-01-01T00:00:00Z', '2028-01-01T00:00:00Z', '2029-01-01T00:00:00Z'],
  },
  {
    spec: '0 12 29 2 *',
    after: '2026-01-01T00:00:00Z',
    want: ['2028-02-29T12:00:00Z', '2032-02-29T12:00:00Z', '2036-02-29T12:00:00Z'],
  },
  {
    spec: '0 0 L * *',
    after: '2026-01-31T00:00:00Z',
    want: ['2026-02-28T00:00:00Z', '2026-03-31T00:00:00Z', '2026-04-30T00:00:00Z'],
  },
  {
    // Saturday 28 February, Tuesday 31 March, Sunday 31 May.
    spec: '0 0 LW 2,3,5 *',
    after: '2026-01-01T00:00:00Z',
    want: ['2026-02-27T00:00:00Z', '2026-03-31T00:00:00Z', '2026-05-29T00:00:00Z'],
  },
  {
    // The 15th is a Sunday in February and March, a Wednesday in April.
    spec: '0 0 15W * *',
    after: '2026-02-01T00:00:00Z',
    want: ['2026-02-16T00:00:00Z', '2026-03-16T00:00:00Z', '2026-04-15T00:00:00Z'],
  },
  {
    // Saturday 1 August stays within its month; so does Sunday 31 May.
    spec: '0 0 1W,31W 5,8 *',
    after: '2026-05-02T00:00:00Z',
    want: ['2026-05-29T00:00:00Z', '2026-08-03T00:00:00Z', '2026-08-31T00:00:00Z'],
  },
  {
    spec: '0 0 * * 5L',
    after: '2026-01-01T00:00:00Z',
    want: ['2026-01-30T00:00:00Z', '2026-02-27T00:00:00Z', '2026-03-27T00:00:00Z'],
  },
  {
    spec: '0 0 * * FRI#2',
    after: '2026-01-01T00:00:00Z',
    want: ['2026-01-09T00:00:00Z', '2026-02-13T00:00:00Z', '2026-03-13T00:00:00Z'],
  },
  {
    spec: '0 0 * * 5#5',
    after: '2026-01-31T00:00:00Z',
    want: ['2026-05-29T00:00:00Z', '2026-07-31T00:00:00Z', '2026-10-30T00:00:00Z'],
  },
  {
    // Both fields are restricted: either matches. 1 January 2026 is a Thursday.
    spec: '0 0 3 * MON',
    after: '2026-01-01T00:00:00Z',
    want: ['2026-01-03T00:00:00Z', '2026-01-05T00:00:00Z', '2026-01-12T00:00:00Z'],
  },
  {
    spec: '0 0 ? * 7',
    after: '2026-01-01T00:00:00Z',
    want: ['2026-01-04T00:00:00Z', '2026-01-11T00:00:00Z', '2026-01-18T00:00:00Z'],
  },
  {
    spec: '0 0 1 1 * 2028,2030',
    after: '2026-01-01T00:00:00Z',
    want: ['2028-01-01T00:00:00Z', '2030-01-01T00:00:00Z', 'never'],
  },
  { spec: '59 59 23 31 12 * 2099', after: '2099-12-31T23:59:59Z', want: ['never'] },
  { spec: '0 0 1 1 * 2020', after: '2026-01-01T00:00:00Z', want: ['never'] },
  { spec: '0 0 30 2 *', after: '2026-01-01T00:00:00Z', want: ['never'] },
  { spec: '0 0 31 4,6,9,11 *', after: '1970-01-01T00:00:00Z', want: ['never'] },
  { spec: '0 0 30W 2 *', after: '2026-01-01T00:00:00Z', want: ['never'] },
]
for (const { spec, after, want } of utc)
  test(`cron: ${spec} after ${after} is due ${want.join(', ')}`, () =>
    assert.deepEqual(series(spec, after), want))

const zoned: readonly {
  name: string
  spec: string
  zone: string
  after: string
  want: readonly string[]
}[] = [
  {
    name: 'the wall clock counts',
    spec: '30 9 * * *',
    zone: 'Europe/Berlin',
    after: '2026-03-27T12:00:00Z',
    want: ['2026-03-28T08:30:00Z', '2026-03-29T07:30:00Z', '2026-03-30T07:30:00Z'],
  },
  {
    name: 'a time that is skipped does not happen that day',
    spec: '30 2 * * *',
    zone: 'Europe/Berlin',
    after: '2026-03-28T00:00:00Z',
    want: ['2026-03-28T01:30:00Z', '2026-03-30T00:30:00Z', '2026-03-31T00:30:00Z'],
  },
  {
    name: 'the skipped hour leaves a gap in none of the others',
    spec: '0,30 * * * *',
    zone: 'Europe/Berlin',
    after: '2026-03-29T00:15:00Z',
    want: ['2026-03-29T00:30:00Z', '2026-03-29T01:00:00Z', '2026-03-29T01:30:00Z'],
  },
  {
    name: 'the end of the skipped hour is there',
    spec: '0 2,3 * * *',
    zone: 'Europe/Berlin',
    after: '2026-03-29T00:00:00Z',
    want: ['2026-03-29T01:00:00Z', '2026-03-30T00:00:00Z', '2026-03-30T01:00:00Z'],
  },
  {
    name: 'a time that is repeated happens twice',
    spec: '30 2 * * *',
    zone: 'Europe/Berlin',
    after: '2026-10-24T12:00:00Z',
    want: ['2026-10-25T00:30:00Z', '2026-10-25T01:30:00Z', '2026-10-26T01:30:00Z'],
  },
  {
    name: 'the first of the two is found from far away, over both changes of the year',
    spec: '30 2 25 10 *',
    zone: 'Europe/Berlin',
    after: '2026-02-01T00:00:00Z',
    want: ['2026-10-25T00:30:00Z', '2026-10-25T01:30:00Z', '2027-10-25T01:30:00Z'],
  },
  {
    name: 'the hour after the repeated one happens once',
    spec: '0 3 * * *',
    zone: 'Europe/Berlin',
    after: '2026-10-24T12:00:00Z',
    want: ['2026-10-25T02:00:00Z', '2026-10-26T02:00:00Z', '2026-10-27T02:00:00Z'],
  },
  {
    name: 'a time that is skipped does not happen that day',
    spec: '15 2 * * *',
    zone: 'America/New_York',
    after: '2026-03-07T00:00:00Z',
    want: ['2026-03-07T07:15:00Z', '2026-03-09T06:15:00Z', '2026-03-10T06:15:00Z'],
  },
  {
    name: 'a time that is repeated happens twice',
    spec: '30 1 * * *',
    zone: 'America/New_York',
    after: '2026-10-31T12:00:00Z',
    want: ['2026-11-01T05:30:00Z', '2026-11-01T06:30:00Z', '2026-11-02T06:30:00Z'],
  },
  {
    name: 'midnight is the one of the zone',
    spec: '@monthly',
    zone: 'America/New_York',
    after: '2026-10-15T00:00:00Z',
    want: ['2026-11-01T04:00:00Z', '2026-12-01T05:00:00Z', '2027-01-01T05:00:00Z'],
  },
  {
    name: 'a skipped time that is the only one of a year never happens',
    spec: '30 2 29 3 * 2026',
    zone: 'Europe/Berlin',
    after: '2026-01-01T00:00:00Z',
    want: ['never'],
  },
]
for (const { name, spec, zone, after, want } of zoned)
  test(`cron in ${zone}: ${name} (${spec})`, () =>
    assert.deepEqual(series(spec, after, { zone }), want))

const MINUTE_MS = 60_000

/** Reference implementation: tests one minute at a time. */
function scan(minute: number, hour: number, { after, zone }: { after: number; zone: string }) {
  for (let ms = (Math.floor(after / MINUTE_MS) + 1) * MINUTE_MS; ; ms += MINUTE_MS) {
    const wall = new Date(ms + offsetAt(zone, ms))
    if (wall.getUTCMinutes() === minute && wall.getUTCHours() === hour) return ms
  }
}

test('cron: the next time is the first one that a walk minute by minute comes to', () => {
  // Around the clock changes of both zones, where errors are most likely.
  const changes = Object.values(ZONES).flatMap(([, from, to]) => [from, to])
  fc.assert(
    fc.property(
      fc.record({
        zone: fc.constantFrom(...Object.keys(ZONES), 'UTC'),
        change: fc.constantFrom(...changes),
        shift: fc.integer({ min: -30 * HOUR_MS, max: 5 * HOUR_MS }),
        minute: fc.nat(59),
        hour: fc.nat(4),
      }),
      ({ zone, change, shift, minute, hour }) => {
        const after = Date.parse(change) + shift
        assert.equal(
          next(`${minute} ${hour} * * *`, after, zone),
          scan(minute, hour, { after, zone }),
        )
      },
    ),
    { numRuns: 150 },
  )
})

const field = (min: number, max: number) =>
  fc.oneof(
    fc.constant('*'),
    fc.integer({ min, max }).map(String),
    fc
      .tuple(fc.integer({ min, max }), fc.integer({ min, max }))
      .map(([a, b]) => (a < b ? `${a}-${b}` : `${b}-${a}`)),
    fc.integer({ min: 1, max }).map((step) => `*/${step}`),
  )
const anySpec = fc
  .tuple(field(0, 59), field(0, 59), field(0, 23), field(1, 31), field(1, 12), field(0, 7))
  .map((parts) => `${parts.join(' ')} *`)

test('cron: the next time comes later, in whole seconds, and is among the fields', () => {
  fc.assert(
    fc.property(
      anySpec,
      fc.constantFrom(...Object.keys(ZONES)),
      fc.date({ min: new Date(0), max: new Date('2090-01-01'), noInvalidDate: true }),
      (spec, zone, after) => {
        const found = next(spec, after.getTime(), zone)
        const parsed = parseCron(spec)
        if (found === undefined || !parsed.ok) return
        const wall = new Date(found + offsetAt(zone, found))
        assert.ok(found > after.getTime())
        assert.equal(found % 1_000, 0)
        assert.ok(parsed.value.seconds.includes(wall.getUTCSeconds()))
        assert.ok(parsed.value.minutes.includes(wall.getUTCMinutes()))
        assert.ok(parsed.value.hours.includes(wall.getUTCHours()))
        assert.ok(parsed.value.months.includes(wall.getUTCMonth() + 1))
        const { days } = parsed.value
        const isDay = days.ofMonth.has(wall.getUTCDate()) || days.ofWeek.has(wall.getUTCDay())
        assert.ok(isDay)
      },
    ),
    { numRuns: 300 },
  )
})

test('cron: the search for a date that never comes asks for few offsets', () => {
  let asked = 0
  const parsed = parseCron('0 0 31 2,4,6,9,11 *')
  assert.ok(parsed.ok)
  const found = nextCronTime(parsed.value, {
    zone: 'Europe/Berlin',
    afterMs: Date.parse('2026-03-28T00:00:00Z'),
    offsetAt: (zone, ms) => {
      asked += 1
      return offsetAt(zone, ms)
    },
  })
  assert.equal(found, undefined)
  assert.ok(asked < 100, `${asked}`)
})
