import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseDurationMs, blockingWaitMs } from './deadline.ts'

const durations: readonly (readonly [string, number])[] = [
  ['30s', 30_000],
  ['1m30s', 90_000],
  ['1.5s', 1_500],
  ['250ms', 250],
  ['2h', 7_200_000],
  ['1h1m1s1ms', 3_661_001],
  ['', 0],
  ['30', 0],
  ['soon', 0],
]
for (const [text, ms] of durations) {
  test(`the duration "${text}" has ${ms} ms`, () => assert.equal(parseDurationMs(text), ms))
}

const holds: readonly (readonly [string, Parameters<typeof blockingWaitMs>[0], number])[] = [
  ['without index the server answers at once', { wait: '5m' }, 0],
  ['index 0 too', { index: 0, wait: '5m' }, 0],
  ['an index holds for the wait and a sixteenth', { index: 1, wait: '16s' }, 17_000],
  ['five minutes when nothing is said', { index: 1 }, 318_750],
  ['a wait of 0 says nothing', { index: 1, wait: '0s' }, 318_750],
  ['a wait that cannot be read says nothing', { index: 1, wait: 'soon' }, 318_750],
  ['ten minutes at most', { index: 1, wait: '99h' }, 637_500],
  ['a number counts seconds', { wait: 20 }, 20_000],
]
for (const [name, query, ms] of holds) {
  test(`held: ${name}`, () => assert.equal(blockingWaitMs(query), ms))
}
