import assert from 'node:assert/strict'
import { test } from 'node:test'
import { minuteText } from './time.ts'

test('a moment to come is said with its zone', () => {
  assert.equal(minuteText(new Date('2026-11-17T23:44:10.123-05:00')), '2026-11-18 04:44 UTC')
})
