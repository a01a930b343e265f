import assert from 'node:assert/strict'
import { test } from 'node:test'
import { launchStaleMs, launchText } from './scheduling.ts'

const NOON = Date.parse('2026-11-17T12:00:00Z')
const at = (text: string) => new Date(`2026-11-${text}Z`)

test('the next launch is said with its zone and how far it is', () => {
  assert.equal(launchText(at('17T13:30:00'), NOON), '2026-11-17 13:30 UTC (in 1h)')
  assert.equal(launchText(undefined, NOON), 'never (the schedule has no future match)')
})

test('it is asked for again when it is over, neither without end nor never', () => {
  assert.equal(launchStaleMs(at('17T12:01:00'), NOON), 61_000)
  assert.equal(launchStaleMs(at('17T11:59:00'), NOON), 10_000)
  assert.equal(launchStaleMs(at('30T12:00:00'), NOON), 86_400_000)
  assert.equal(launchStaleMs(undefined, NOON), 86_400_000)
})
