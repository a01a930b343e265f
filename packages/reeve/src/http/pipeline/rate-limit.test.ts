import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'
import { RateLimit, REJECTION_PACE } from './rate-limit.ts'

function exhausted() {
  const clock = new SimulatedClock()
  const limit = new RateLimit(clock, 1)
  limit.take('a')
  return { clock, limit, reject: () => limit.take('a').rejectAfterMs }
}

test('rate limit: as many rejections as the burst are answered at once, the next one later', () => {
  const { limit, reject } = exhausted()
  for (let count = 0; count < REJECTION_PACE.burst; count++) assert.equal(reject(), 0)
  assert.equal(reject(), 1_000 / REJECTION_PACE.perSecond)
  limit.take('b')
  assert.equal(limit.take('b').rejectAfterMs, 0, 'another tenant is not concerned')
})

test('rate limit: no rejection is delayed by more than the limit', () => {
  const { reject } = exhausted()
  for (let count = 0; count < 10_000; count++) reject()
  assert.equal(reject(), REJECTION_PACE.heldMsMax)
})

test('rate limit: a tenant that paused is answered at once again', () => {
  const clock = new SimulatedClock()
  // No request is gained in the pause, so that the next one is rejected too.
  const limit = new RateLimit(clock, 0.001)
  for (let count = 0; count < 10_000; count++) limit.take('a')
  clock.advance(
    REJECTION_PACE.heldMsMax + (REJECTION_PACE.burst * 1_000) / REJECTION_PACE.perSecond,
  )
  assert.equal(limit.take('a').rejectAfterMs, 0)
})

test('rate limit: the busiest tenant is reported', () => {
  const limit = new RateLimit(new SimulatedClock(), 10)
  for (const tenant of ['a', 'b', 'b', 'b']) limit.take(tenant)
  assert.equal(limit.busiest(), 3)
})
