import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { DrainLoop } from '../../src/control/index.ts'
import { put } from '../../src/state/index.ts'
import { aGroup, aJob, anAllocation, anId } from '../build/index.ts'
import { withScheduler, type ScheduledServer } from '../api/cluster.ts'
import { createTestServer } from '../api/harness.ts'

const NODE = anId('node', 1)
const OTHER = anId('node', 2)
const MIGRATE = { MaxParallel: 1, MinHealthyTime: 10e9, HealthyDeadline: 300e9 }

/** Two nodes, the loop that schedules and the one that drains. */
async function aWorld() {
  const scheduled = await withScheduler(await createTestServer({ aclEnabled: false }), 2)
  const { store, clock, ids } = scheduled.server.context
  const silent = (): void => undefined
  const log = { info: silent, warn: silent, error: silent }
  const loop = new DrainLoop({ store, clock, ids, log, checkClock: silent })
  loop.start()
  /** Lets time pass in steps, so that what follows from one thing happens before the next. */
  const pass = async (ms: number): Promise<void> => {
    for (let left = ms; left > 0; left -= 1_000) {
      scheduled.server.clock.advance(Math.min(left, 1_000))
      await setImmediate()
      await scheduled.settle()
    }
  }
  return { ...scheduled, loop, pass }
}

/** What a node's agent would do: everything that should run runs, everything else ends. */
async function obey({ server, report, settle }: ScheduledServer) {
  // As they are now: each report changes them.
  const rows = [...server.context.store.tables.allocations.rows()]
  for (const row of rows) {
    const wanted = row.DesiredStatus === 'run' ? 'running' : 'complete'
    if (row.ClientStatus !== wanted && row.ClientStatus !== 'complete') await report(row, wanted)
  }
  await settle()
}

function drain(server: ScheduledServer['server'], DrainSpec: object) {
  return server.ok('drainNode', { params: { node_id: NODE }, body: { DrainSpec } })
}

function readNode(server: ScheduledServer['server']) {
  return server.ok('readNode', { params: { node_id: NODE } })
}

function runningOn({ server }: ScheduledServer, nodeId: string) {
  return server.context.store.tables.allocations
    .rowsByIndex('node', nodeId)
    .filter((row) => row.DesiredStatus === 'run' && row.ClientStatus === 'running').length
}

test('drain loop: a service leaves one by one, healthy replacements first, then it is over', async () => {
  const world = await aWorld()
  const { server, run, pass } = world
  await server.ok('setNodeEligibility', {
    params: { node_id: OTHER },
    body: { Eligibility: 'ineligible' },
  })
  await run({ TaskGroups: [aGroup({ Count: 3, Migrate: MIGRATE, Update: null })] })
  await obey(world)
  await server.ok('setNodeEligibility', {
    params: { node_id: OTHER },
    body: { Eligibility: 'eligible' },
  })
  assert.equal(runningOn(world, NODE), 3)
  await pass(11_000)
  await drain(server, { Deadline: 0 })
  for (const left of [2, 1, 0]) {
    await pass(1_000)
    await obey(world)
    assert.equal(runningOn(world, NODE), left)
    await pass(11_000)
  }
  await pass(1_000)
  const node = await readNode(server)
  assert.deepEqual(
    [node.Drain, node.DrainStrategy, node.SchedulingEligibility, node.LastDrain?.Status],
    [false, null, 'ineligible', 'complete'],
  )
  assert.deepEqual(
    [node.Events.at(-1)?.Message, node.Events.at(-1)?.Details],
    ['Node drain complete', null],
  )
  assert.equal(runningOn(world, OTHER), 3)
  const evaluations = await server.ok('listEvaluations', {
    query: { filter: 'TriggeredBy == "node-drain"' },
  })
  assert.equal(evaluations.length, 3)
})

test('drain loop: at the deadline what is left goes, and the node says so', async () => {
  const world = await aWorld()
  const { server, run, pass, allocationsOf } = world
  await server.ok('setNodeEligibility', {
    params: { node_id: OTHER },
    body: { Eligibility: 'ineligible' },
  })
  await run({ ID: 'work', Type: 'batch' })
  await obey(world)
  await drain(server, { Deadline: 30e9 })
  await pass(29_000)
  assert.equal((await readNode(server)).Drain, true)
  assert.equal(allocationsOf('work')[0]?.DesiredTransition, undefined)
  await pass(2_000)
  const node = await readNode(server)
  assert.deepEqual([node.Drain, node.Events.at(-1)?.Details], [false, { deadline_reached: 'true' }])
  const [row] = allocationsOf('work')
  assert.deepEqual(
    [row?.DesiredStatus, row?.DesiredTransition?.MigrateDisablePlacement],
    ['stop', true],
  )
  assert.equal(allocationsOf('work').length, 1)
})

test('drain loop: an empty node is done at once', async () => {
  const { server, pass } = await aWorld()
  await drain(server, { Deadline: 0 })
  await pass(1_000)
  assert.equal((await readNode(server)).LastDrain?.Status, 'complete')
})

test('drain loop: one that begins anew goes on from what is stored', async () => {
  const server = await createTestServer({ aclEnabled: false })
  const { store, clock, ids } = server.context
  const scheduled = await withScheduler(server, 1)
  const job = aJob({ ID: 'work', Type: 'batch' })
  await store.commit({
    by: 'system',
    cause: undefined,
    changes: () => [
      put('jobs', job),
      put('job_versions', job),
      put('allocations', anAllocation({ job })),
    ],
  }).durable
  await drain(server, { Deadline: 30e9 })
  server.clock.advance(60_000)
  const silent = (): void => undefined
  const log = { info: silent, warn: silent, error: silent }
  new DrainLoop({ store, clock, ids, log, checkClock: silent }).start()
  server.clock.advance(1)
  await scheduled.settle()
  assert.equal((await readNode(server)).Drain, false)
  assert.equal(scheduled.allocationsOf('work')[0]?.DesiredStatus, 'stop')
})

test('drain loop: stopped, it does nothing more', async () => {
  const { server, loop, pass } = await aWorld()
  loop.stop()
  await drain(server, { Deadline: 0 })
  await pass(5_000)
  assert.equal((await readNode(server)).Drain, true)
})

test('drain loop: events carry the type of what happened', async () => {
  const world = await aWorld()
  const { server, run, pass } = world
  await run({ ID: 'work', Type: 'batch' })
  await obey(world)
  const types: string[] = []
  server.context.store.log.subscribe((commits) => {
    for (const { events } of commits)
      for (const { Topic, Type } of events)
        if (Topic === 'Node' || Type === 'AllocationUpdateDesiredStatus')
          types.push(`${Topic} ${Type}`)
  })
  const on = world.allocationsOf('work')[0]?.NodeID ?? ''
  await server.ok('drainNode', { params: { node_id: on }, body: { DrainSpec: { Deadline: -1 } } })
  await pass(1_000)
  assert.deepEqual(types.slice(0, 3), [
    'Node NodeDrain',
    'Allocation AllocationUpdateDesiredStatus',
    'Node NodeDrain',
  ])
})
