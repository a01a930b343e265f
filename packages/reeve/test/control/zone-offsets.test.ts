import assert from 'node:assert/strict'
import test from 'node:test'
import { nextLaunchMs } from '../../src/model/index.ts'
import { createTimeZoneOffset } from '@reeve/kit/time-zone.ts'

const offsetAt = createTimeZoneOffset()

const offsets: readonly (readonly [zone: string, time: string, hours: number])[] = [
  ['UTC', '2026-07-01T00:00:00Z', 0],
  ['Europe/Berlin', '2026-01-01T00:00:00Z', 1],
  ['Europe/Berlin', '2026-03-29T00:59:59.999Z', 1],
  ['Europe/Berlin', '2026-03-29T01:00:00Z', 2],
  ['Europe/Berlin', '2026-10-25T00:59:59.999Z', 2],
  ['Europe/Berlin', '2026-10-25T01:00:00Z', 1],
  ['America/New_York', '2026-03-08T06:59:59Z', -5],
  ['America/New_York', '2026-03-08T07:00:00Z', -4],
  ['America/New_York', '2026-11-01T06:00:00Z', -5],
  ['Asia/Kolkata', '2026-01-01T00:00:00Z', 5.5],
  ['Pacific/Kiritimati', '2026-01-01T00:00:00Z', 14],
  ['Pacific/Pago_Pago', '2026-01-01T00:00:00Z', -11],
  ['Australia/Lord_Howe', '2026-01-01T00:00:00Z', 11],
]
for (const [zone, time, hours] of offsets)
  test(`time zones: ${zone} is ${hours} hours ahead at ${time}`, () =>
    assert.equal(offsetAt(zone, Date.parse(time)), hours * 3_600_000))

test('time zones: one that nobody knows is no zone', () => {
  assert.throws(() => offsetAt('Mars/Base', 0), RangeError)
})

const launches: readonly (readonly [zone: string, spec: string, after: string, next: string])[] = [
  ['Europe/Berlin', '30 2 * * *', '2026-03-28T12:00:00Z', '2026-03-30T00:30:00.000Z'],
  ['Europe/Berlin', '30 2 25 10 *', '2026-02-01T00:00:00Z', '2026-10-25T00:30:00.000Z'],
  ['America/New_York', '30 1 * * *', '2026-11-01T05:30:00Z', '2026-11-01T06:30:00.000Z'],
  // The clocks of Lord Howe Island go half an hour forward, at 2:00.
  ['Australia/Lord_Howe', '15 2 * * *', '2026-10-03T00:00:00Z', '2026-10-04T15:15:00.000Z'],
  // Samoa went over the date line and had no 30 December 2011.
  ['Pacific/Apia', '0 12 30 12 *', '2011-12-01T00:00:00Z', '2012-12-29T22:00:00.000Z'],
]
for (const [TimeZone, Spec, after, next] of launches)
  test(`time zones: ${Spec} in ${TimeZone} after ${after} is due ${next}`, () => {
    const periodic = {
      Enabled: true,
      Spec,
      Specs: null,
      SpecType: 'cron',
      ProhibitOverlap: false,
      TimeZone,
    }
    const found = nextLaunchMs(periodic, Date.parse(after), offsetAt)
    assert.equal(found === undefined ? 'never' : new Date(found).toISOString(), next)
  })
