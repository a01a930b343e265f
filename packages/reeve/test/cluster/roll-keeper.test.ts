import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { test } from 'node:test'
import { DEFAULT_HEARTBEAT, ServerHeartbeat, type ServerRegistry } from '../../src/cluster/index.ts'
import { MemoryServerRegistry } from '../../src/storage/index.ts'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'

const FACTS = { region: 'global', datacenter: 'dc1', build: '1' }

function aWorld() {
  const clock = new SimulatedClock()
  const roll = new MemoryServerRegistry(() => clock.nowMs())
  let isAway = false
  const failures: unknown[] = []
  const store: ServerRegistry = {
    heartbeat: async (entry, limits) => {
      if (isAway) throw new Error('away')
      await roll.heartbeat(entry, limits)
    },
    retire: (name, retirement) => roll.retire(name, retirement),
    list: () => roll.list(),
  }
  const keeper = (name: string): ServerHeartbeat =>
    new ServerHeartbeat({
      store,
      record: () => ({ id: name, name, address: `${name}:1`, ...FACTS }),
      clock,
      onError: (thrown) => void failures.push(thrown),
    })
  return {
    clock,
    keeper,
    failures,
    goAway: (away: boolean) => void (isAway = away),
    states: async () => (await roll.list()).map(({ name, state }) => `${name} ${state}`).toSorted(),
    pass: async (ms: number) => {
      clock.advance(ms)
      await turn()
    },
  }
}

test('roll: a server signs at its start, and again while it runs', async () => {
  const world = aWorld()
  const a = world.keeper('a')
  await a.start()
  for (let turns = 0; turns < 10; turns++) await world.pass(DEFAULT_HEARTBEAT.intervalMs)
  assert.deepEqual(
    a.servers.map(({ name, sinceHeartbeatMs }) => [name, sinceHeartbeatMs]),
    [['a', 0]],
  )
})

test('roll: servers learn of each other, of one that stops and of one that is gone', async () => {
  const world = aWorld()
  const [a, b] = [world.keeper('a'), world.keeper('b')]
  await a.start()
  await b.start()
  await world.pass(DEFAULT_HEARTBEAT.intervalMs)
  assert.deepEqual(a.servers.map(({ name }) => name).toSorted(), ['a', 'b'])
  b.announceLeaving()
  await turn()
  assert.deepEqual(await world.states(), ['a serving', 'b leaving'])
  assert.equal(b.self.state, 'leaving')
  await b.stop()
  assert.deepEqual(await world.states(), ['a serving', 'b left'])
  await world.pass(DEFAULT_HEARTBEAT.intervalMs)
  assert.deepEqual(await world.states(), ['a serving', 'b left'], 'it does not sign any more')
})

test('server heartbeat: while the storage is unavailable no server expires', async () => {
  const world = aWorld()
  const [a, b] = [world.keeper('a'), world.keeper('b')]
  await b.start()
  await a.start()
  world.goAway(true)
  for (let turns = 0; turns < 20; turns++) await world.pass(DEFAULT_HEARTBEAT.intervalMs)
  assert.ok(world.failures.length > 0)
  assert.deepEqual(
    a.servers.map(({ sinceHeartbeatMs }) => sinceHeartbeatMs),
    [0, 0],
  )
  world.goAway(false)
  await world.pass(DEFAULT_HEARTBEAT.intervalMs)
  assert.deepEqual(await world.states(), ['a serving', 'b serving'])
})

test('roll keeper: a server that has left is removed, and seen as removed at once', async () => {
  const { keeper } = aWorld()
  const [a, b] = [keeper('a'), keeper('b')]
  await b.start()
  await b.stop()
  await a.start()
  const names = () => a.servers.map(({ name }) => name).toSorted()
  assert.deepEqual(names(), ['a', 'b'])
  await a.retire('b', true)
  await a.retire('a', true)
  assert.deepEqual(names(), ['a'])
  await a.stop()
})
