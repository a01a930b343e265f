import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Input, Job } from '@reeve/contract'
import { DEFAULT_HEARTBEAT_SETTINGS } from '../../src/control/index.ts'
import { isoFromMs } from '@reeve/kit/duration.ts'
import { isTerminal, LIMITS, type AllocationRow } from '../../src/model/index.ts'
import { namespacedKey } from '../../src/state/index.ts'
import { ofJob, register } from '../api/cluster.ts'
import { aGroup, anId } from '../build/index.ts'
import { aWorld } from './presence-world.ts'

const { heartbeatMsMin, graceMs } = DEFAULT_HEARTBEAT_SETTINGS
const NOTICE_MS = heartbeatMsMin + graceMs
const DELAY_MS = LIMITS.nodeLossDelayMs
const PROBE_MS = NOTICE_MS + LIMITS.harmlessRunMsMin
const TEN_MINUTES_MS = 600_000

const UNDEPLOYED: Input<Job> = { TaskGroups: [aGroup({ Update: { MaxParallel: 0 } })] }

/** A world of so many nodes in which allocations run only when the test says so. */
async function aClusterOf(nodeCount: number) {
  const world = await aWorld()
  for (let i = 1; i <= nodeCount; i++) await world.hello(anId('node', i))
  const { tables, beating, pass, allocationsOf, report, server, settle } = world
  const live = (jobId: string): readonly AllocationRow[] =>
    allocationsOf(jobId).filter((row) => !isTerminal(row))
  return {
    ...world,
    live,
    job: (jobId: string): Job => tables.jobs.get(namespacedKey('default', jobId)),
    onlyNodeOf: (jobId: string): string => {
      const [row, ...others] = live(jobId)
      assert.ok(row !== undefined && others.length === 0, `${jobId} has one live allocation`)
      return row.NodeID
    },
    /** The node says nothing any more, and is marked down. */
    lose: async (...ids: readonly string[]): Promise<void> => {
      for (const id of ids) beating.delete(id)
      await pass(NOTICE_MS + 2_000)
      for (const id of ids) assert.equal(world.statusOf(id), 'down')
    },
    /** What is pending runs from now on. */
    start: async (jobId: string): Promise<void> => {
      const StartedAt = isoFromMs(server.clock.nowMs())
      for (const row of live(jobId))
        await report(row, 'running', { TaskStates: { main: { State: 'running', StartedAt } } })
      await settle()
    },
    ready: (): number => [...tables.nodes.rows()].filter((row) => row.Status === 'ready').length,
  }
}

/** A job that has lost two nodes, one after the other. */
async function quarantined(job: Input<Job> = {}) {
  const world = await aClusterOf(5)
  await world.run(job)
  const first = world.onlyNodeOf('web')
  await world.lose(first)
  await world.pass(DELAY_MS)
  const second = world.onlyNodeOf('web')
  await world.lose(second)
  return { ...world, nodes: [first, second] }
}

test('quarantine: the second node that a job is lost with is the last', async () => {
  const { nodes, job, live, pass, ready, tables, allocationsOf } = await quarantined(UNDEPLOYED)
  assert.notEqual(nodes[0], nodes[1])
  const { Quarantine: found, Status, Version } = job('web')
  assert.deepEqual([found?.NodeIDs, found?.Version, Status], [nodes, Version, 'pending'])
  await pass(2 * TEN_MINUTES_MS)
  assert.deepEqual(live('web'), [])
  assert.deepEqual([allocationsOf('web').length, ready()], [2, 3])
  const texts = [...tables.evaluations.rows()].map((row) => row.StatusDescription)
  assert.ok(texts.some((text) => text.includes('the job is quarantined: 2 nodes were lost')))
})

test('quarantine: followers of jobs hear of it once', async () => {
  const world = await aClusterOf(4)
  const types: string[] = []
  world.context.store.log.subscribe((commits) => {
    for (const { events } of commits)
      for (const { Topic, Type } of events) if (Topic === 'Job') types.push(Type)
  })
  await world.run()
  for (const delayMs of [0, DELAY_MS]) {
    await world.pass(delayMs)
    await world.lose(world.onlyNodeOf('web'))
  }
  await world.pass(TEN_MINUTES_MS)
  assert.deepEqual(
    types.filter((type) => type === 'JobQuarantined'),
    ['JobQuarantined'],
  )
})

test('quarantine: after the first loss the job is placed again, but not at once', async () => {
  const { run, lose, pass, onlyNodeOf, live, job, allocationsOf } = await aClusterOf(3)
  await run()
  const first = onlyNodeOf('web')
  await lose(first)
  const [loss] = job('web').NodeLosses ?? []
  assert.deepEqual([loss?.NodeID, job('web').Quarantine], [first, undefined])
  await pass(DELAY_MS - 5_000)
  assert.deepEqual(live('web'), [])
  await pass(5_000)
  const [row] = live('web')
  const lost = allocationsOf('web').find(({ NodeID }) => NodeID === first)
  assert.deepEqual([lost?.ClientStatus, lost?.NextAllocation], ['lost', row?.ID])
})

test('quarantine: jobs that run on the nodes keep their count, and are not blamed', async () => {
  const world = await aClusterOf(5)
  const { run, start, pass, lose, onlyNodeOf, live, job } = world
  await run({ ID: 'shop', TaskGroups: [aGroup({ Count: 3 })] })
  await start('shop')
  await pass(TEN_MINUTES_MS)
  await run()
  for (const delayMs of [0, DELAY_MS]) {
    await pass(delayMs)
    await lose(onlyNodeOf('web'))
    await start('shop')
    assert.equal(live('shop').length, 3)
  }
  assert.ok(job('web').Quarantine)
  assert.deepEqual([job('shop').Quarantine, job('shop').NodeLosses], [undefined, undefined])
})

test('quarantine: one allocation is tried before the others', async () => {
  const { run, start, lose, pass, live } = await aClusterOf(6)
  await run({ TaskGroups: [aGroup({ Count: 3 })] })
  const nodes = new Set(live('web').map(({ NodeID }) => NodeID))
  await lose(...nodes)
  await pass(DELAY_MS)
  assert.equal(live('web').length, 1)
  await start('web')
  await pass(PROBE_MS - 5_000)
  assert.equal(live('web').length, 1)
  await pass(6_000)
  assert.equal(live('web').length, 3)
})

test('quarantine: a new version ends it, the same one again does not', async () => {
  const { server, settle, job, live } = await quarantined()
  await server.ok('registerJob', register())
  await settle()
  assert.ok(job('web').Quarantine)
  assert.deepEqual(live('web'), [])
  await server.ok('registerJob', register({ Meta: { fixed: 'yes' } }))
  await settle()
  assert.deepEqual([job('web').Quarantine, job('web').NodeLosses], [undefined, undefined])
  assert.equal(live('web').length, 1)
})

test('quarantine: scaling does not end it', async () => {
  const { server, settle, job, live } = await quarantined(UNDEPLOYED)
  const body = { Count: 2, Target: { Group: 'app' }, Message: 'more' }
  await server.ok('scaleJob', { ...ofJob(), body })
  await settle()
  assert.deepEqual([job('web').Version, job('web').Quarantine?.Version], [1, 0])
  assert.deepEqual(live('web'), [])
})

test('quarantine: an operator ends it, and the losses so far are forgotten', async () => {
  const { server, settle, job, live, lose, onlyNodeOf } = await quarantined()
  await server.ok('releaseJob', ofJob())
  await settle()
  assert.deepEqual([job('web').Quarantine, job('web').NodeLosses], [undefined, undefined])
  assert.equal(live('web').length, 1)
  await lose(onlyNodeOf('web'))
  assert.equal(job('web').Quarantine, undefined)
  assert.equal(job('web').NodeLosses?.length, 1)
})

test('quarantine: nodes that fail together during many starts quarantine nobody', async () => {
  const { run, start, pass, lose, live, job, hello } = await aClusterOf(2)
  const jobs = Array.from({ length: 12 }, (_, at) => `job-${at}`)
  const TaskGroups = [aGroup({ Count: 2, Constraints: [{ Operand: 'distinct_hosts' }] })]
  for (const ID of jobs) await run({ ID, TaskGroups })
  for (const ID of jobs) assert.equal(live(ID).length, 2, `${ID} starts on both nodes`)
  await hello(anId('node', 3))
  await hello(anId('node', 4))
  await lose(anId('node', 1), anId('node', 2))
  for (let round = 0; round < 10; round++) {
    await pass(30_000)
    for (const ID of jobs) await start(ID)
  }
  for (const ID of jobs) {
    assert.equal(job(ID).Quarantine, undefined, ID)
    assert.equal(live(ID).length, 2, `${ID} has its count again`)
  }
})

test('quarantine: a node that was gone before a job was placed on it says nothing of the job', async () => {
  const { run, beating, pass, statusOf, job } = await aClusterOf(1)
  beating.clear()
  await pass(heartbeatMsMin + 2_000)
  await run()
  await pass(NOTICE_MS)
  assert.equal(statusOf(anId('node', 1)), 'down')
  assert.equal(job('web').NodeLosses, undefined)
})

test('quarantine: a system job goes to no further node', async () => {
  const { run, start, lose, pass, hello, job, live } = await aClusterOf(1)
  await run({ Type: 'system' })
  await lose(anId('node', 1))
  await pass(DELAY_MS)
  await hello(anId('node', 2))
  assert.equal(live('web').length, 1)
  await lose(anId('node', 2))
  assert.ok(job('web').Quarantine)
  await hello(anId('node', 3))
  await start('web')
  assert.deepEqual(live('web'), [])
  assert.equal(job('web').Status, 'running')
})
