import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatClock, formatFuture, formatMinute } from './format.ts'

test('a moment to come is said with its zone', () => {
  assert.equal(formatMinute(new Date('2026-11-17T23:44:10.123-05:00')), '2026-11-18 04:44 UTC')
})

test('charts count seconds, and show what clocks show in UTC', () => {
  assert.equal(formatClock(Date.parse('2026-11-17T23:44:10.7-05:00') / 1_000), '04:44:10')
})

test('a moment to come is said with how far it is', () => {
  const date = new Date('2026-11-18T04:44:00Z')
  const nowMs = date.getTime() - 3 * 3_600_000
  assert.equal(formatFuture(date, nowMs), '2026-11-18 04:44 UTC (in 3h)')
})
