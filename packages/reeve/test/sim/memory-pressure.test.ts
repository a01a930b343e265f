import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Input, Job } from '@reeve/contract'
import { namespacedKey } from '../../src/state/index.ts'
import { registerJob, scaleJob, stopJob } from '../../src/workload/index.ts'
import type { SimLeader } from '../../sim/sim-leader.ts'
import { CALLER, findRejection, SIMULATED_ORIGIN } from '../../sim/operations.ts'
import { SingleServer } from '../../sim/single-server.ts'
import { World } from '../../sim/world.ts'

const namespace = 'default'
const STEP_MS = 10_000
const [NORMAL, FULL, STILL_FULL] = [0.5, 0.95, 0.87]

class PressedWorld {
  readonly world: World
  readonly #server: SingleServer

  static async start(): Promise<PressedWorld> {
    const pressed = new PressedWorld()
    pressed.world.stopFaults()
    await pressed.#server.open()
    await pressed.pass()
    return pressed
  }

  constructor() {
    const servers: SingleServer[] = []
    const serve = (world: World): SingleServer => {
      servers.push(new SingleServer(world))
      return servers[0] ?? assert.fail()
    }
    this.world = new World({ seed: 1, nodes: 4, createBackend: serve })
    this.#server = servers[0] ?? assert.fail()
  }

  get leader(): SimLeader {
    return this.world.leader ?? assert.fail('a calm world has a leader')
  }

  async pass(ms = STEP_MS): Promise<void> {
    await this.world.clock.advance(ms, this.world.hasFailed)
    assert.equal(this.world.violation, undefined)
  }

  async use(share: number): Promise<void> {
    this.#server.setMemoryShare(share)
    await this.pass(2_000)
  }

  /** Lets time pass while a request is under way. */
  async acknowledged<T>(request: Promise<{ ok: boolean } & T>): Promise<void> {
    await this.pass()
    const answer = await request
    assert.ok(answer.ok, JSON.stringify(answer))
  }

  async register(ID: string, Count: number): Promise<void> {
    const Resources = { CPU: 20, MemoryMB: 16 }
    const Tasks = [{ Name: 'main', Driver: 'mock', Config: {}, Resources }]
    const Job: Input<Job> = { ID, Type: 'service', TaskGroups: [{ Name: 'a', Count, Tasks }] }
    await this.acknowledged(
      registerJob(this.leader.context, CALLER, {
        body: { Job },
        origin: SIMULATED_ORIGIN,
        pathJobId: undefined,
        queryNamespace: namespace,
        queryRegion: '',
      }),
    )
  }

  async scale(jobId: string, Count: number): Promise<void> {
    const body = { Count, Target: { Group: 'a' }, Message: 'scaled' }
    await this.acknowledged(scaleJob(this.leader.context, CALLER, { namespace, jobId, body }))
  }

  async stop(jobId: string): Promise<void> {
    const request = { namespace, jobId, purge: false, evalPriority: 0, noShutdownDelay: false }
    await this.acknowledged(stopJob(this.leader.context, CALLER, request))
  }

  running(jobId: string): number {
    const rows = this.world.expectedState.allocations.inGroup(
      `job ${namespacedKey(namespace, jobId)}`,
    )
    return rows.filter(({ ClientStatus }) => ClientStatus === 'running').length
  }
}

test('simulation: a server with low memory rejects growth, stops jobs, and resumes later', async () => {
  const pressed = await PressedWorld.start()
  await pressed.register('kept', 2)
  await pressed.register('stopped', 2)
  await pressed.pass()
  assert.deepEqual([pressed.running('kept'), pressed.running('stopped')], [2, 2])

  await pressed.use(FULL)
  const { context } = pressed.leader
  assert.match(findRejection(context, 'registerJob') ?? '', /95 % of the server's memory are used/)
  for (const id of ['stopJob', 'listJobs', 'drainNode', 'deleteVariable'] as const)
    assert.equal(findRejection(context, id), undefined, id)
  await pressed.scale('kept', 4)
  await pressed.stop('stopped')
  await pressed.pass()
  assert.equal(pressed.running('stopped'), 0, 'a job is stopped while memory is short')
  assert.equal(pressed.running('kept'), 2, 'nothing is placed while memory is low')
  const lost = [...pressed.world.nodes.values()].find((node) => node.driver.running.size > 0)
  lost?.powerOff()
  await pressed.pass(60_000)
  const { allocations } = pressed.world.expectedState
  assert.equal(allocations.byKey.size, 4, 'a lost allocation is not replaced while memory is short')

  await pressed.use(STILL_FULL)
  assert.notEqual(findRejection(context, 'registerJob'), undefined)
  await pressed.use(NORMAL)
  assert.equal(findRejection(context, 'registerJob'), undefined)
  await pressed.pass(60_000)
  assert.equal(pressed.running('kept'), 4)
  await pressed.register('new', 1)
  await pressed.pass()
  assert.equal(pressed.running('new'), 1)
})
