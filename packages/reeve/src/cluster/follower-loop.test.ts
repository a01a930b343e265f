import assert from 'node:assert/strict'
import { setImmediate as settled } from 'node:timers/promises'
import { test } from 'node:test'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'
import { aStore } from '../../test/build/store.ts'
import { FollowerLoop, type StorageChange } from './follower-loop.ts'
import { LogHistory } from './log-history.ts'

test('follower loop: polls ten times a second without notifications', async () => {
  const world = await aFollower({ hasBell: false })
  await world.pass(1_000)
  assert.equal(world.looks.log, 1 + 10)
  assert.equal(world.looks.lease, 1 + 10)
})

test('follower loop: polls twice a second with notifications, and at each one', async () => {
  const world = await aFollower({ hasBell: true })
  await world.pass(990)
  assert.equal(world.looks.log, 1 + 1)
  await world.ring('log')
  assert.equal(world.looks.log, 3, 'at once')
  assert.equal(world.looks.lease, 2, 'the log alone')
  await world.ring('lease')
  await world.pass(20)
  assert.deepEqual(world.looks, { log: 4, lease: 3 })
})

test('follower loop: constant notifications cause at most fifty polls a second', async () => {
  const world = await aFollower({ hasBell: true })
  await world.pass(100)
  const before = world.looks.log
  for (let ms = 0; ms < 1_000; ms += 2) {
    await world.ring('log')
    await world.pass(2)
  }
  const looks = world.looks.log - before
  assert.ok(looks >= 40 && looks <= 51, `${looks} looks`)
  assert.ok(world.looks.lease >= 2, 'the lease is looked at all the same')
})

test('follower loop: polls at the short interval without a connected notifier', async () => {
  const world = await aFollower({ hasBell: true })
  world.deafen()
  await world.pass(500)
  const before = world.looks.log
  await world.pass(1_000)
  assert.equal(world.looks.log - before, 10)
})

test('follower loop: does not poll after a stop', async () => {
  const world = await aFollower({ hasBell: true })
  await world.loop.stop()
  const before = world.looks.log
  await world.ring('log')
  await world.pass(1_000)
  assert.equal(world.looks.log, before)
  assert.ok(world.isUnheard())
})

/** A follower of a log in which nothing happens; every look at it is counted. */
async function aFollower({ hasBell }: { readonly hasBell: boolean }) {
  const { store } = await aStore()
  const clock = new SimulatedClock()
  const looks = { log: 0, lease: 0 }
  let heard: (rung: StorageChange) => void = () => undefined
  let canHear = true
  let isStopped = false
  const listening = {
    get isConnected() {
      return canHear
    },
    stop: () => void (isStopped = true),
  }
  const bell = {
    subscribe: (hear: (rung: StorageChange) => void) => {
      heard = hear
      return listening
    },
  }
  const loop = new FollowerLoop({
    engine: {
      refresh: async () => {
        looks.log += 1
        const checkpoint = { upTo: 0, tableIndexes: {} }
        const log = { lastIndex: store.index, firstIndex: 1, checkpoint }
        return { ...log, entry: undefined, losses: '0/0' }
      },
      read: async function* () {},
    },
    store,
    history: new LogHistory(),
    lease: {
      acquire: async () => undefined,
      renew: async () => false,
      release: async () => undefined,
      read: async () => {
        looks.lease += 1
        return { term: 1, holder: 'a', address: 'a:1', remainingMs: 3_000 }
      },
    },
    ...(hasBell && { notifier: bell }),
    clock,
    monotonicMs: () => clock.nowMs(),
    onError: (thrown) => assert.fail(String(thrown)),
    onLeader: () => undefined,
  })
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 2) {
      clock.advance(2)
      await settled()
    }
  }
  loop.start()
  await settled()
  return {
    loop,
    looks,
    pass,
    ring: async (rung: StorageChange) => {
      heard(rung)
      clock.advance(0)
      await settled()
    },
    deafen: () => (canHear = false),
    isUnheard: () => isStopped,
  }
}
