import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  allocationId,
  anAgent,
  anAssignment,
  FakeServer,
  mockDriver,
  pass,
  someMemoryStorage,
  stopped,
} from '../../../test/build/agent.ts'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { DRIVER_UNAVAILABLE, type RunningTask, type TaskDriver } from '../driver.ts'

const ID = allocationId(1)

/** A machine with one task, whose driver can be away. */
class World {
  readonly clock = new SimulatedClock()
  readonly server = new FakeServer()
  readonly storage = someMemoryStorage()
  readonly inner = mockDriver(this.clock)
  isAway = false
  asked = 0

  agent(): ReturnType<typeof anAgent> {
    const { clock, server, storage } = this
    return anAgent({ dial: server.dial, clock, storage, drivers: [this.#driver()] })
  }

  #check(): void {
    this.asked += 1
    if (this.isAway) throw new Fault(DRIVER_UNAVAILABLE, 'the engine does not answer')
  }

  #driver(): TaskDriver {
    const { inner } = this
    return {
      name: inner.name,
      isolation: inner.isolation,
      fingerprint: () => inner.fingerprint(),
      start: async (launch) => this.#task(await inner.start(launch)),
      recover: async (handle) => {
        this.#check()
        const recovery = await inner.recover(handle)
        if (recovery.kind !== 'attached') return recovery
        return { ...recovery, task: this.#task(recovery.task) }
      },
    }
  }

  #task(task: RunningTask): RunningTask {
    return {
      handle: task.handle,
      exited: task.exited,
      address: task.address,
      signal: (name) => task.signal(name),
      stop: async (request) => {
        this.#check()
        await task.stop(request)
      },
      exec: (request) => task.exec(request),
      usage: () => task.usage(),
      detach: () => task.detach(),
      destroyRecords: () => task.destroyRecords(),
    }
  }
}

/** An agent ran the task and was killed; the next one finds its driver away. */
async function restarted(): Promise<World> {
  const world = new World()
  world.server.assign(anAssignment())
  const first = world.agent()
  await first.start()
  await pass(world.clock, 1_000)
  assert.equal(world.server.statusOf(ID), 'running')
  await first.stop()
  world.isAway = true
  return world
}

test('driver away: the task is kept and re-attached when the driver answers', async () => {
  const world = await restarted()
  const agent = world.agent()
  await agent.start()
  await pass(world.clock, 60_000, 250)
  assert.equal(world.server.statusOf(ID), 'running')
  const events = world.server.eventsOf(ID, 'web')
  assert.equal(events.includes('Failed Restoring Task'), false)
  assert.equal(events.filter((type) => type === 'Driver').length, 1)
  // Asked with growing pauses, the longest of five seconds.
  assert.ok(world.asked > 10 && world.asked < 25, String(world.asked))
  world.isAway = false
  await pass(world.clock, 6_000, 250)
  assert.equal(world.inner.running.length, 1)
  assert.equal(world.server.eventsOf(ID, 'web').filter((type) => type === 'Driver').length, 2)
  await agent.stop()
})

test('driver away: a stop is carried out when the driver answers', async () => {
  const world = await restarted()
  const agent = world.agent()
  await agent.start()
  await pass(world.clock, 1_000, 250)
  world.server.assign(stopped(anAssignment()))
  await pass(world.clock, 60_000, 250)
  assert.equal(world.inner.running.length, 1)
  assert.equal(world.server.statusOf(ID), 'running')
  world.isAway = false
  await pass(world.clock, 20_000, 250)
  assert.equal(world.inner.running.length, 0)
  assert.equal(world.server.statusOf(ID), 'complete')
  await agent.stop()
})

test('driver away: a kill that cannot be asked for now does not count as a failed one', async () => {
  const world = new World()
  world.server.assign(anAssignment())
  const agent = world.agent()
  await agent.start()
  await pass(world.clock, 1_000)
  world.isAway = true
  world.server.assign(stopped(anAssignment()))
  // Five failed kills would have been given up after 15 s.
  await pass(world.clock, 60_000, 250)
  assert.equal(world.inner.running.length, 1)
  assert.equal(world.server.statusOf(ID), 'running')
  world.isAway = false
  await pass(world.clock, 20_000, 250)
  assert.equal(world.server.statusOf(ID), 'complete')
  await agent.stop()
})

test('driver unavailable: the agent stops regardless, and the next one continues', async () => {
  const world = await restarted()
  const second = world.agent()
  await second.start()
  await pass(world.clock, 1_000, 250)
  world.server.assign(stopped(anAssignment()))
  await pass(world.clock, 1_000, 250)
  await second.stop()
  world.isAway = false
  const third = world.agent()
  await third.start()
  await pass(world.clock, 20_000, 250)
  assert.equal(world.inner.running.length, 0)
  assert.equal(world.server.statusOf(ID), 'complete')
  await third.stop()
})
