import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'
import { MemoryLease } from '../../src/storage/index.ts'
import { DEFAULT_LEASE_TIMING, LeaseKeeper, type LeaseStore } from '../../src/cluster/index.ts'

test('one of two servers leads, and the other follows it when it is killed', async () => {
  const world = new World()
  const first = world.server('a')
  const second = world.server('b')
  first.keeper.start()
  await world.pass(10)
  second.keeper.start()
  await world.pass(5_000)
  assert.deepEqual([first.roles, second.roles], [['leader'], []])
  first.isStopped = true
  await world.pass(DEFAULT_LEASE_TIMING.ttlMs + 2 * DEFAULT_LEASE_TIMING.pollMs)
  assert.deepEqual(second.roles, ['leader'])
  assert.ok(second.keeper.isLeading())
  assert.deepEqual(second.keeper.leadership.role === 'leader' && second.keeper.leadership.term, 2)
})

test('a leader that gives its lease back is followed within a poll', async () => {
  const world = new World()
  const first = world.server('a')
  const second = world.server('b')
  first.keeper.start()
  await world.pass(10)
  second.keeper.start()
  await world.pass(1_000)
  await first.keeper.stop()
  assert.equal(first.keeper.isLeading(), false)
  await world.pass(DEFAULT_LEASE_TIMING.pollMs)
  assert.deepEqual(second.roles, ['leader'])
})

test('a leader that was paused past its lease does not claim to lead when it wakes', async () => {
  const world = new World()
  const first = world.server('a')
  const second = world.server('b')
  first.keeper.start()
  await world.pass(10)
  second.keeper.start()
  await world.pass(1_000)
  first.isStopped = true
  await world.pass(DEFAULT_LEASE_TIMING.ttlMs * 2)
  // Not one of its timers has run yet: the first thing it does is to answer a request.
  assert.equal(first.keeper.isLeading(), false)
  assert.equal(await first.keeper.confirmLease(), false)
  first.isStopped = false
  await world.pass(10)
  assert.deepEqual(first.roles, ['leader', 'deposed'])
  assert.ok(second.keeper.isLeading())
})

test('there is never a moment at which two servers claim to lead', async () => {
  const world = new World()
  const servers = ['a', 'b', 'c'].map((name) => world.server(name))
  for (const { keeper } of servers) keeper.start()
  for (let step = 0; step < 2_000; step++) {
    // Each is paused, cut off and healed again at odds of its own.
    for (const [n, server] of servers.entries()) {
      server.isStopped = (step * (n + 3)) % 97 < 30
      server.isCutOff = (step * (n + 5)) % 89 < 20
    }
    await world.pass(50)
    assert.ok(servers.filter(({ keeper }) => keeper.isLeading()).length <= 1)
  }
})

test('a leader whose storage is away stops when its time is over', async () => {
  const world = new World()
  const server = world.server('a')
  server.keeper.start()
  await world.pass(1_000)
  server.isCutOff = true
  await world.pass(DEFAULT_LEASE_TIMING.ttlMs)
  assert.deepEqual(server.roles, ['leader', 'deposed'])
  assert.ok(server.failures > 0)
})

/** Servers with one storage; each may be paused, or lose the way to the storage. */
class World {
  readonly #lease: LeaseStore
  readonly #servers: Simulated[] = []
  #nowMs = 0

  constructor() {
    this.#lease = new MemoryLease(() => this.#nowMs)
  }

  server(name: string): Simulated {
    const server = new Simulated(name, { lease: this.#lease, nowMs: () => this.#nowMs })
    this.#servers.push(server)
    return server
  }

  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 10) {
      this.#nowMs += 10
      for (const server of this.#servers) server.catchUp(this.#nowMs)
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
}

class Simulated {
  readonly keeper: LeaseKeeper
  readonly roles: string[] = []
  isStopped = false
  isCutOff = false
  failures = 0
  readonly #clock = new SimulatedClock(0)

  constructor(name: string, world: { lease: LeaseStore; nowMs: () => number }) {
    this.keeper = new LeaseKeeper({
      store: this.#reach(world.lease),
      holder: name,
      address: () => name,
      clock: this.#clock,
      monotonicMs: world.nowMs,
      onChange: ({ role }) => this.roles.push(role),
      onError: () => this.failures++,
    })
  }

  /** A paused process runs none of its timers; they all run when it wakes. */
  catchUp(nowMs: number): void {
    if (!this.isStopped) this.#clock.advance(nowMs - this.#clock.nowMs())
  }

  #reach(lease: LeaseStore): LeaseStore {
    const through = async <T>(ask: () => Promise<T>): Promise<T> => {
      if (this.isCutOff) throw new Error('the storage is away')
      return await ask()
    }
    return {
      acquire: (claim) => through(() => lease.acquire(claim)),
      renew: (held, claim) => through(() => lease.renew(held, claim)),
      release: (held) => through(() => lease.release(held)),
      read: () => through(() => lease.read()),
    }
  }
}
