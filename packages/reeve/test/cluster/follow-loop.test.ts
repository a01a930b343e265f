import assert from 'node:assert/strict'
import { setImmediate as othersTurn } from 'node:timers/promises'
import { test } from 'node:test'
import { FollowLoop, LogHistory } from '../../src/cluster/index.ts'
import { MemoryLease } from '../../src/storage/index.ts'
import { SimulatedClock } from '../build/simulated-clock.ts'
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
  const loop = new FollowLoop({
    // A database that is gone lets the engine ask again and again for long.
    engine: {
      follow: () => (isAway ? new Promise(() => undefined) : Promise.resolve(position)),
      read: async function* () {},
    },
    store,
    history: new LogHistory(),
    lease,
    clock,
    monotonicMs: () => clock.nowMs(),
    failed: assert.ifError,
    looked: (leader) => void told.push(leader),
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
