import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { daysInMonth, floorDivide, dayStartMs, toWallTime } from './calendar.ts'

const days: readonly (readonly [year: number, month: number, day: number, iso: string])[] = [
  [1970, 1, 1, '1970-01-01'],
  [2024, 2, 29, '2024-02-29'],
  [2023, 2, 29, '2023-03-01'],
  [2026, 13, 1, '2027-01-01'],
  [2026, 1, 0, '2025-12-31'],
  [50, 3, 1, '0050-03-01'],
  [-1, 12, 31, '-000001-12-31'],
]
for (const [year, month, day, iso] of days)
  test(`calendar: day ${day} of month ${month} in ${year} is ${iso}`, () => {
    assert.equal(dayStartMs(year, month, day), Date.parse(`${iso}T00:00:00Z`))
  })

test('calendar: months have the days of the Gregorian calendar', () => {
  const lengths = (year: number) => Array.from({ length: 12 }, (_, at) => daysInMonth(year, at + 1))
  assert.deepEqual(lengths(2026), [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
  assert.deepEqual(
    [1900, 2000, 2024, 4].map((year) => daysInMonth(year, 2)),
    [28, 29, 29, 29],
  )
})

test('calendar: a wall time converts back to the second', () => {
  const moments = fc.integer({ min: -8_000_000_000_000, max: 8_000_000_000_000 })
  fc.assert(
    fc.property(moments, (seconds) => {
      const { year, month, day, hour, minute, second, weekday } = toWallTime(seconds * 1_000)
      const time = (hour * 60 + minute) * 60 + second
      assert.equal(dayStartMs(year, month, day) + time * 1_000, seconds * 1_000)
      assert.equal(weekday, (((Math.floor(seconds / 86_400) + 4) % 7) + 7) % 7)
    }),
  )
})

test('calendar: floorDivide rounds down on both sides of zero', () => {
  assert.deepEqual(
    [7n, -7n, 8n, -8n, 0n].map((value) => floorDivide(value, 4n)),
    [1n, -2n, 2n, -2n, 0n],
  )
})
