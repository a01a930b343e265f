import assert from 'node:assert/strict'
import { setImmediate as othersTurn } from 'node:timers/promises'
import { test } from 'node:test'
import { FollowerLoop, LogHistory } from '../../src/cluster/index.ts'
import { MemoryLease } from '../../src/storage/index.ts'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'
import { aStore } from '../build/store.ts'

test('follow loop: when a lease is over it says so, also while it waits for the log', async () => {
  const { store } = await aStore()
  const clock = new SimulatedClock(0)
  const lease = new MemoryLease(() => clock.nowMs())
  await lease.acquire({ holder: 'a', address: 'a:1', ttlMs: 3_000 })
  const told: string[] = []
  const checkpoint = { upTo: 0, tableIndexes: {} }
  const position = { firstIndex: 1, lastIndex: 0, checkpoint, entry: undefined, losses: '0/0' }
  let isAway = false
  const loop = new FollowerLoop({
    // A database that is gone lets the engine ask again and again for long.
    engine: {
      refresh: () => (isAway ? new Promise(() => undefined) : Promise.resolve(position)),
      read: async function* () {},
    },
    store,
    history: new LogHistory(),
    lease,
    clock,
    monotonicMs: () => clock.nowMs(),
    onError: assert.ifError,
    onLeader: (leader) => void told.push(leader),
  })
  loop.start()
  await othersTurn()
  assert.deepEqual(told, ['a:1'])
  isAway = true
  clock.advance(200)
  await othersTurn()
  clock.advance(4_000)
  assert.equal(told.at(-1), '')
})

test('follow loop: the leader stays known while the log cannot be read', async () => {
  const { store } = await aStore()
  const clock = new SimulatedClock(0)
  const lease = new MemoryLease(() => clock.nowMs())
  const claim = { holder: 'a', address: 'a:1', ttlMs: 3_000 }
  const held = await lease.acquire(claim)
  assert.ok(held !== undefined)
  const loop = new FollowerLoop({
    // Somebody has locked the table.
    engine: { refresh: () => new Promise(() => undefined), read: async function* () {} },
    store,
    history: new LogHistory(),
    lease,
    clock,
    monotonicMs: () => clock.nowMs(),
    onError: assert.ifError,
    onLeader: () => undefined,
  })
  loop.start()
  for (let second = 0; second < 10; second++) {
    await lease.renew(held, claim)
    clock.advance(500)
    await othersTurn()
    clock.advance(500)
    await othersTurn()
    assert.equal(loop.leader.address, 'a:1', `after ${second + 1} s`)
  }
  assert.equal(loop.lastContactMs, 10_000, 'its state is as old as it is')
})
