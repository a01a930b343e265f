import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OutageLog } from './outage-log.ts'

test('an outage is logged at its start, each minute, and at its end', () => {
  let nowMs = 0
  const told: string[] = []
  const teller = new OutageLog({
    monotonicMs: () => nowMs,
    onFailure: (why) => void told.push(`${nowMs} ${why}`),
    onRecovery: (lastedMs) => void told.push(`${nowMs} over after ${lastedMs}`),
  })
  teller.succeeded()
  for (nowMs = 0; nowMs < 130_000; nowMs += 100) teller.failed(nowMs === 0 ? 'away' : 'still away')
  teller.succeeded()
  teller.succeeded()
  teller.failed('away again')
  assert.deepEqual(told, [
    '0 away',
    '60000 still away',
    '120000 still away',
    '130000 over after 130000',
    '130000 away again',
  ])
})
