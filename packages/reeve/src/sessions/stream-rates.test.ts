import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'
import { LIMITS } from '../model/index.ts'
import { StreamRateLimiter } from './node-streams.ts'

const { nodeStreamBytesPerSecond: PER_SECOND, nodeStreamBytesBurst: BURST } = LIMITS

test('stream rates: only the caller that exceeds its burst is throttled', () => {
  const rates = new StreamRateLimiter(new SimulatedClock())
  assert.equal(rates.consume('attacker', BURST), 0)
  assert.equal(rates.consume('attacker', PER_SECOND), 1_000)
  assert.equal(rates.consume('victim', BURST), 0)
})

test('stream rates: all streams of a caller share its rate', () => {
  const clock = new SimulatedClock()
  const rates = new StreamRateLimiter(clock)
  let bytes = 0
  for (let ms = 0; ms < 10_000; ms++) {
    for (let stream = 0; stream < 4; stream++)
      if (rates.consume('attacker', 0) === 0) {
        rates.consume('attacker', 64 * 1024)
        bytes += 64 * 1024
      }
    clock.advance(1)
  }
  const expected = BURST + 10 * PER_SECOND
  assert.ok(Math.abs(bytes - expected) < 256 * 1024, `${bytes} bytes, ${expected} expected`)
})

test('stream rates: idle callers are removed', () => {
  const clock = new SimulatedClock()
  const rates = new StreamRateLimiter(clock)
  for (let caller = 0; caller < 100; caller++) rates.consume(`caller ${caller}`, BURST)
  assert.equal(rates.size, 100)
  clock.advance((BURST / PER_SECOND) * 1_000)
  rates.consume('another', 1)
  assert.equal(rates.size, 1)
})
