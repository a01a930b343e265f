import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { toDateTimeFields } from './calendar.ts'
import { parseDuration } from './duration.ts'
import { parseTime } from './parse-time.ts'
import { formatTime } from './time-layout.ts'

const MOMENT = 1_136_239_445_123_456_789n

const written: readonly (readonly [layout: string, wanted: string])[] = [
  ['2006-01-02T15:04:05Z07:00', '2006-01-02T15:04:05-07:00'],
  ['Mon Jan _2 15:04:05.000 2006', 'Mon Jan  2 15:04:05.123 2006'],
  ['Monday, 02-Jan-06 03:04:05 PM', 'Monday, 02-Jan-06 03:04:05 PM'],
  ['3:4:5pm .999999 ,00', '3:4:5pm .123456 ,12'],
  ['002 __2 1/2', '002   2 1/2'],
  ['-0700 -07 -07:00:00 Z0700', '-0700 -07 -07:00:00 -0700'],
  ['January Janet Monthly', 'January Janet Monthly'],
]

for (const [layout, wanted] of written)
  test(`format: ${layout}`, () => {
    assert.equal(formatTime(toDateTimeFields(MOMENT, -7 * 3600), layout), wanted)
  })

const read: readonly (readonly [layout: string, text: string, wanted: string | undefined])[] = [
  ['2006-01-02', '2020-02-29', '2020-02-29T00:00:00.000Z'],
  ['2006-01-02', '2021-02-29', undefined],
  ['2006-002', '2020-366', '2020-12-31T00:00:00.000Z'],
  ['2006-002', '2021-366', undefined],
  ['15:04:05', '23:59:59.25', '0000-01-01T23:59:59.250Z'],
  ['15:04:05', '24:00:00', undefined],
  ['02 Jan 06 15:04 MST', '02 jan 69 01:00 CET', '1969-01-02T01:00:00.000Z'],
  ['3PM', '12AM', '0000-01-01T00:00:00.000Z'],
  ['3PM', '13PM', undefined],
  ['2006-01-02T15:04:05Z07:00', '2020-01-01T00:00:00+25:00', undefined],
  ['2006-01-02T15:04:05Z07:00', '2020-01-01T01:30:00+01:30', '2020-01-01T00:00:00.000Z'],
  ['2006', '2020 ', undefined],
]

for (const [layout, text, wanted] of read)
  test(`parse: ${text} as ${layout}`, () => {
    const ns = parseTime(layout, text)
    const shown = ns === undefined ? undefined : new Date(Number(ns / 1_000_000n)).toISOString()
    assert.equal(shown, wanted)
  })

test('a time that was written is read back, to the nanosecond', () => {
  const layout = '2006-01-02T15:04:05.000000000Z07:00'
  fc.assert(
    fc.property(
      fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
      fc.integer({ min: -14 * 60, max: 14 * 60 }),
      (ns, minutes) => {
        assert.equal(parseTime(layout, formatTime(toDateTimeFields(ns, minutes * 60), layout)), ns)
      },
    ),
  )
})

test('any layout and any text give a time or none', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (layout, text) => {
      parseTime(layout, text)
      formatTime(toDateTimeFields(MOMENT, 0), layout)
    }),
  )
})

const durations: readonly (readonly [string, bigint | undefined])[] = [
  ['1h30m', 5_400_000_000_000n],
  ['-1.5s', -1_500_000_000n],
  ['.5d', 43_200_000_000_000n],
  ['1w1y', 32_140_800_000_000_000n],
  ['0', 0n],
  ['1', undefined],
  ['.s', undefined],
  ['300y', undefined],
  ['', undefined],
]

for (const [text, wanted] of durations)
  test(`duration: ${text}`, () => assert.equal(parseDuration(text), wanted))
