import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatDurationNs, msFromNs, nsFromMs, parseDurationNs } from './duration.ts'

const texts: readonly [string, number | undefined][] = [
  ['0', 0],
  ['10s', 10e9],
  ['1h30m', 5400e9],
  ['1.5s', 1.5e9],
  ['250ms', 250e6],
  ['-5m', -300e9],
  ['2us', 2000],
  ['', undefined],
  ['10', undefined],
  ['s', undefined],
  ['1d', undefined],
  ['1h 30m', undefined],
]
for (const [text, ns] of texts)
  test(`duration: ${JSON.stringify(text)} is ${ns ?? 'refused'}`, () => {
    assert.equal(parseDurationNs(text), ns)
  })

test('duration: the canonical text names hours, minutes and seconds', () => {
  assert.equal(formatDurationNs(7200e9), '2h0m0s')
  assert.equal(formatDurationNs(90e9), '1m30s')
  assert.equal(formatDurationNs(1.5e9), '1.5s')
  assert.equal(formatDurationNs(250e6), '250ms')
  assert.equal(formatDurationNs(0), '0s')
})

test('duration: milliseconds convert exactly to nanoseconds and back', () => {
  for (const ms of [1731628800123, 1794704905999, 1]) {
    assert.equal(JSON.stringify(nsFromMs(ms)), `${ms}000000`)
    assert.equal(msFromNs(nsFromMs(ms)), ms)
  }
})
