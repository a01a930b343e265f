import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FollowerLoop, LogHistory } from '../../src/cluster/index.ts'
import { MemoryLease } from '../../src/storage/index.ts'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'
import { aStore } from '../build/store.ts'

test('last contact: a state that took long to load is as old as the moment it was read from', async () => {
  const { store } = await aStore()
  let nowMs = 1_000
  const seenMs = nowMs
  nowMs += 5_000
  const loop = new FollowerLoop({
    engine: { refresh: () => Promise.reject(new Error('away')), read: async function* () {} },
    store,
    history: new LogHistory(),
    lease: new MemoryLease(() => nowMs),
    clock: new SimulatedClock(0),
    monotonicMs: () => nowMs,
    currentAsOfMs: seenMs,
    onError: () => undefined,
    onLeader: () => undefined,
  })
  assert.equal(loop.lastContactMs, 5_000)
  nowMs += 1_000
  assert.equal(loop.lastContactMs, 6_000)
})
