import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  allocationId,
  anAgent,
  anAssignment,
  aTask,
  FakeServer,
  mockDriver,
  pass,
  restartPolicy,
  someMemoryStorage,
  turn,
} from '../../test/build/agent.ts'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'
import { nsFromMs } from '@reeve/kit/duration.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import type { RunningTask, TaskDriver } from './driver.ts'
import type { Dialer } from './link/channel.ts'
import type { AgentStorage } from './store/agent-storage.ts'

const ID = allocationId(1)
const NEVER = new Promise<never>(() => undefined)

/** What outlives every agent: the machine, its disk, its processes and the server. */
class World {
  readonly clock = new SimulatedClock()
  readonly server = new FakeServer()
  readonly driver = mockDriver(this.clock)
  readonly storage = someMemoryStorage()
  starts = 0
  mostAtOnce = 0

  noteStart(): void {
    this.starts += 1
    this.mostAtOnce = Math.max(this.mostAtOnce, this.driver.running.length)
  }
}

/**
 * The process of one agent: it dies at the given count of effects on the disk and on tasks, half of
 * the time before the effect and half of the time after it. The dead do nothing any more.
 */
class MortalProcess {
  readonly #world: World
  #left: number
  #isDead = false

  constructor(world: World, lifetime: number) {
    this.#world = world
    this.#left = lifetime
  }

  get isDead(): boolean {
    return this.#isDead
  }

  async #step<T>(effect: () => Promise<T>): Promise<T> {
    if (this.#dies()) return NEVER
    const result = await effect()
    return this.#dies() ? NEVER : result
  }

  #dies(): boolean {
    if (!this.#isDead && this.#left === 0) {
      this.#isDead = true
      this.#world.server.channel?.close()
    }
    this.#left -= 1
    return this.#isDead
  }

  get clock(): Clock {
    const { clock } = this.#world
    return {
      nowMs: () => clock.nowMs(),
      monotonicMs: () => clock.nowMs(),
      after: (delayMs, wake) => clock.after(delayMs, () => (this.#isDead ? undefined : wake())),
    }
  }

  get dial(): Dialer {
    return () => (this.#isDead ? NEVER : this.#world.server.dial())
  }

  get storage(): AgentStorage {
    const { storage } = this.#world
    const { store } = storage
    return {
      ...storage,
      store: {
        load: () => store.load(),
        saveAssignment: (assignment) => this.#step(() => store.saveAssignment(assignment)),
        // A disk is slower than a fork: who does not wait for it is found out.
        saveTasks: (id, tasks) => turn().then(() => this.#step(() => store.saveTasks(id, tasks))),
        remove: (id) => this.#step(() => store.remove(id)),
      },
    }
  }

  get driver(): TaskDriver {
    const { driver } = this.#world
    return {
      name: driver.name,
      isolation: driver.isolation,
      fingerprint: () => driver.fingerprint(),
      start: (launch) =>
        this.#step(async () => {
          const task = await driver.start(launch)
          this.#world.noteStart()
          return this.#mortal(task)
        }),
      recover: (handle) =>
        this.#step(async () => {
          const recovery = await driver.recover(handle)
          if (recovery.kind !== 'attached') return recovery
          return { kind: 'attached', task: this.#mortal(recovery.task) }
        }),
    }
  }

  #mortal(task: RunningTask): RunningTask {
    return {
      handle: task.handle,
      address: task.address,
      exited: task.exited.then((exit) => (this.#isDead ? NEVER : exit)),
      signal: (name) => this.#step(() => task.signal(name)),
      stop: (request) => this.#step(() => task.stop(request)),
      exec: (request) => this.#step(() => task.exec(request)),
      usage: () => this.#step(() => task.usage()),
      detach: () => task.detach(),
      destroyRecords: () => this.#step(() => task.destroyRecords()),
    }
  }
}

/** Lets one agent after the other live and die; the last one lives on. */
async function liveThrough(world: World, lifetimes: readonly number[]): Promise<void> {
  for (const lifetime of [...lifetimes, Infinity]) {
    const process = new MortalProcess(world, lifetime)
    const { clock, storage, dial, driver } = process
    const agent = anAgent({ dial, clock, drivers: [driver], storage })
    await agent.start()
    for (let passed = 0; passed < 60_000 && !process.isDead; passed += 250) {
      await pass(world.clock, 250, 250)
    }
    if (!process.isDead) await agent.stop()
  }
}

const lifetimes = fc.array(fc.nat(24), { maxLength: 6 })

test('a task is started exactly as often as its policy allows, wherever agents are killed', async () => {
  await fc.assert(
    fc.asyncProperty(lifetimes, async (lives) => {
      const world = new World()
      const task = aTask({
        Config: { run_for: '3s', exit_code: 1 },
        RestartPolicy: restartPolicy({ Attempts: 2, Delay: nsFromMs(1_000) }),
      })
      world.server.assign(anAssignment({ tasks: [task] }))
      await liveThrough(world, lives)
      assert.equal(world.starts, 3)
      assert.equal(world.mostAtOnce, 1)
      assert.equal(world.server.statusOf(ID), 'failed')
    }),
    { numRuns: 60 },
  )
})

test('a batch task that succeeds runs once and is complete, wherever agents are killed', async () => {
  await fc.assert(
    fc.asyncProperty(lifetimes, async (lives) => {
      const world = new World()
      const task = aTask({ Config: { run_for: '2s' }, RestartPolicy: restartPolicy() })
      world.server.assign(anAssignment({ job: { Type: 'batch' }, tasks: [task] }))
      await liveThrough(world, lives)
      assert.equal(world.starts, 1)
      assert.equal(world.server.statusOf(ID), 'complete')
    }),
    { numRuns: 60 },
  )
})
