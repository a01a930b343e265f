import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import type { Input, Job } from '@reeve/contract'
import { DEFAULT_HEARTBEAT_SETTINGS, HeartbeatMonitor } from '../../src/control/index.ts'
import { put } from '../../src/state/index.ts'
import { updateAllocations } from '../../src/workload/index.ts'
import { NodeSessions } from '../../src/sessions/index.ts'
import { aGroup, aNode, anId } from '../build/index.ts'
import { aWorld } from './presence-world.ts'

const NODE = anId('node', 1)
const OTHER = anId('node', 2)
const SECOND_NS = 1e9
const { heartbeatMsMin: BEAT_MS, graceMs, failoverTtlMs } = DEFAULT_HEARTBEAT_SETTINGS
const SILENT_MS = BEAT_MS + graceMs

function waiting(lostAfterNs: number, Reconcile = 'best_score'): Input<Job> {
  const Disconnect = { LostAfter: lostAfterNs, Replace: true, Reconcile }
  const ReschedulePolicy = { Unlimited: true, Delay: SECOND_NS * 5, DelayFunction: 'constant' }
  return { TaskGroups: [aGroup({ Disconnect, ReschedulePolicy, Update: null })] }
}

/** A job with one allocation, which runs on the first of two nodes. */
async function withOneAllocation(job: Input<Job>) {
  const world = await aWorld()
  await world.hello(NODE)
  await world.run(job)
  const [row] = world.allocationsOf('web')
  assert.ok(row)
  await world.report(row, 'running')
  await world.hello(OTHER)
  return { ...world, row }
}

test('presence: a node that speaks stays, one that is silent is down and its work goes on elsewhere', async () => {
  const { beating, pass, statusOf, eventsOf, allocationsOf, row } = await withOneAllocation({})
  await pass(2 * SILENT_MS)
  assert.deepEqual([statusOf(NODE), statusOf(OTHER)], ['ready', 'ready'])
  beating.delete(NODE)
  await pass(SILENT_MS - 2_000)
  assert.equal(statusOf(NODE), 'ready')
  await pass(4_000)
  assert.deepEqual([statusOf(NODE), statusOf(OTHER)], ['down', 'ready'])
  assert.deepEqual(eventsOf(NODE), [
    ['Cluster', 'Node registered'],
    ['Heartbeat', 'Node heartbeat missed'],
  ])
  const rows = allocationsOf('web').map((one) => `${one.Name} ${one.NodeID} ${one.ClientStatus}`)
  assert.deepEqual(rows.toSorted(), [`${row.Name} ${NODE} lost`, `${row.Name} ${OTHER} pending`])
})

test('presence: a server that was paused hears its nodes before it gives any up', async () => {
  const { server, beating, pass, statusOf } = await withOneAllocation({})
  server.clock.pause(3 * SILENT_MS)
  await setImmediate()
  assert.deepEqual([statusOf(NODE), statusOf(OTHER)], ['ready', 'ready'])
  // One of them went away meanwhile.
  beating.delete(OTHER)
  await pass(SILENT_MS - 1_000)
  assert.deepEqual([statusOf(NODE), statusOf(OTHER)], ['ready', 'ready'])
  await pass(2_000)
  assert.deepEqual([statusOf(NODE), statusOf(OTHER)], ['ready', 'down'])
})

test('presence: once stopped it gives nobody up, also who speaks until the channels are closed', async () => {
  const { presence, beating, hello, pass, statusOf } = await aWorld()
  presence.stop()
  await hello(NODE)
  beating.clear()
  await pass(2 * SILENT_MS)
  assert.equal(statusOf(NODE), 'ready')
})

test('presence: a node that comes back after its work was given up is ready at once', async () => {
  const { beating, pass, hello, statusOf, eventsOf } = await withOneAllocation({})
  beating.delete(NODE)
  await pass(SILENT_MS + 2_000)
  await hello(NODE)
  assert.equal(statusOf(NODE), 'ready')
  assert.deepEqual(eventsOf(NODE).at(-1), ['Cluster', 'Node re-registered'])
})

test('presence: with lost_after it is disconnected, back it tells how its work is, then it is ready', async () => {
  const world = await withOneAllocation(waiting(600 * SECOND_NS, 'keep_original'))
  const { beating, pass, hello, statusOf, report, allocationsOf, triggersOf, tables, row } = world
  beating.delete(NODE)
  await pass(SILENT_MS + 10_000)
  assert.equal(statusOf(NODE), 'disconnected')
  const statuses = () =>
    allocationsOf('web').map((one) => `${one.NodeID} ${one.ClientStatus} ${one.DesiredStatus}`)
  assert.deepEqual(statuses().toSorted(), [`${NODE} unknown run`, `${OTHER} pending run`])
  const followUp = tables.allocations.get(row.ID).FollowupEvalID ?? ''
  assert.deepEqual(
    [tables.evaluations.get(followUp).TriggeredBy, tables.evaluations.get(followUp).Status],
    ['max-disconnect-timeout', 'pending'],
  )
  await hello(NODE)
  await pass(10_000)
  assert.equal(statusOf(NODE), 'initializing', 'held back until it has told how its work is')
  await report(row, 'running')
  await pass(1_000)
  assert.equal(statusOf(NODE), 'ready')
  assert.deepEqual(world.eventsOf(NODE).slice(-2), [
    ['Cluster', 'Node re-registered'],
    ['Heartbeat', 'Node is back and ready'],
  ])
  assert.deepEqual(statuses().toSorted(), [`${NODE} running run`, `${OTHER} pending stop`])
  assert.ok(triggersOf('web').includes('reconnect'))
  assert.equal(tables.evaluations.get(followUp).Status, 'canceled')
})

test('presence: a disconnected node is down once nothing on it can come back', async () => {
  const { beating, pass, statusOf, allocationsOf, row } = await withOneAllocation(
    waiting(120 * SECOND_NS),
  )
  beating.delete(NODE)
  await pass(SILENT_MS + 100_000)
  assert.equal(statusOf(NODE), 'disconnected')
  await pass(80_000)
  assert.equal(statusOf(NODE), 'down')
  const given = allocationsOf('web').find((one) => one.ID === row.ID)
  assert.deepEqual([given?.ClientStatus, given?.DesiredStatus], ['lost', 'stop'])
})

test('presence: a disconnected node whose job was stopped meanwhile is down soon', async () => {
  const { beating, pass, statusOf, server } = await withOneAllocation(waiting(3_600 * SECOND_NS))
  beating.delete(NODE)
  await pass(SILENT_MS + 5_000)
  assert.equal(statusOf(NODE), 'disconnected')
  await server.ok('stopJob', { params: { job_id: 'web' } })
  await pass(40_000)
  assert.equal(statusOf(NODE), 'down')
})

test('presence: one of several allocations that a node has not spoken of holds it back', async () => {
  const world = await aWorld()
  const { hello, beating, pass, statusOf, report, run, allocationsOf } = world
  await hello(NODE)
  const [group] = waiting(600 * SECOND_NS).TaskGroups ?? []
  await run({ TaskGroups: [{ ...group, Count: 2 }] })
  const rows = allocationsOf('web')
  for (const row of rows) await report(row, 'running')
  beating.delete(NODE)
  await pass(SILENT_MS + 10_000)
  await hello(NODE)
  for (const row of rows) {
    assert.equal(statusOf(NODE), 'initializing')
    await report(row, 'running')
    await pass(1_000)
  }
  assert.equal(statusOf(NODE), 'ready')
})

test('presence: a node that is back before anybody looked at its work may say that nothing has changed', async () => {
  const world = await withOneAllocation(waiting(600 * SECOND_NS))
  const { pass, hello, statusOf, report, context, tables, row } = world
  const silent = { ...tables.nodes.get(NODE), Status: 'disconnected' as const }
  const written = context.store.commit({
    by: 'system',
    cause: 'NodeEvent',
    changes: () => [put('nodes', silent)],
  })
  await written.durable
  await hello(NODE)
  await pass(10_000)
  assert.equal(statusOf(NODE), 'initializing')
  assert.equal(tables.allocations.get(row.ID).ClientStatus, 'running')
  await report(row, 'running')
  await pass(1_000)
  assert.equal(statusOf(NODE), 'ready')
})

test('presence: what the servers write about an allocation is no word of its node', async () => {
  const { beating, pass, hello, statusOf, context, row } = await withOneAllocation(
    waiting(600 * SECOND_NS),
  )
  beating.delete(NODE)
  await pass(SILENT_MS + 10_000)
  await hello(NODE)
  const { store } = context
  const written = store.commit({
    by: 'system',
    cause: 'AllocationUpdateDesiredStatus',
    changes: ({ index }) => [
      put('allocations', { ...store.tables.allocations.get(row.ID), AllocModifyIndex: index }),
    ],
  })
  await written.durable
  await pass(5_000)
  assert.equal(statusOf(NODE), 'initializing')
})

test('presence: a node that was given up is heard only after it said hello again', async () => {
  const { beating, pass, context, tables, row } = await withOneAllocation(waiting(600 * SECOND_NS))
  const sessions = new NodeSessions(context.store)
  const closed: string[] = []
  for (const nodeId of [NODE, OTHER])
    sessions.attach({ nodeId, send: () => undefined, close: () => void closed.push(nodeId) })
  beating.delete(NODE)
  await pass(SILENT_MS + 10_000)
  assert.deepEqual(closed, [NODE], 'its channel is closed, so that it dials anew')
  const update = {
    ID: row.ID,
    ClientStatus: 'failed',
    ClientDescription: '',
    TaskStates: null,
  } as const
  await updateAllocations(context, [{ nodeId: NODE, updates: [update] }])
  assert.equal(tables.allocations.get(row.ID).ClientStatus, 'unknown')
})

test('presence: after a start nodes have a minute to come back', async () => {
  const { context, pass, beating, statusOf, presence } = await withOneAllocation({})
  presence.stop()
  beating.clear()
  const quiet = (): void => undefined
  const { store, clock, ids } = context
  const next = new HeartbeatMonitor({
    store,
    clock,
    ids,
    log: { info: quiet, warn: quiet, error: quiet },
  })
  next.start()
  await pass(failoverTtlMs - 2_000)
  assert.deepEqual([statusOf(NODE), statusOf(OTHER)], ['ready', 'ready'])
  next.recordHeartbeat(OTHER)
  await pass(5_000)
  assert.deepEqual([statusOf(NODE), statusOf(OTHER)], ['down', 'ready'])
})

const describes = [
  {
    name: 'another attribute',
    fields: { Attributes: { 'kernel.name': 'other' } },
    evaluated: true,
  },
  { name: 'another name', fields: { Name: 'renamed' }, evaluated: true },
  { name: 'a driver that is ill', fields: { Drivers: {} }, evaluated: true },
  { name: 'nothing new', fields: {}, evaluated: false },
  {
    name: 'more memory alone',
    fields: {
      NodeResources: { ...aNode().NodeResources, Memory: { MemoryMB: 9_999 } },
    },
    evaluated: false,
  },
]
for (const { name, fields, evaluated } of describes)
  test(`presence: a ready node that tells of ${name} has ${evaluated ? 'its jobs' : 'nothing'} evaluated`, async () => {
    const { hello, triggersOf } = await withOneAllocation({})
    const before = triggersOf('web').length
    await hello(NODE, fields)
    assert.deepEqual(triggersOf('web').slice(before), evaluated ? ['node-update'] : [])
  })

for (const jumpMs of [-3_600_000, 3_600_000])
  test(`presence: a silent node is noticed in time though the clock jumps by ${jumpMs} ms`, async () => {
    const { server, hello, beating, pass, statusOf } = await aWorld()
    const [silent, other] = [anId('node', 1), anId('node', 2)]
    await hello(silent)
    await hello(other)
    beating.delete(silent)
    server.clock.jump(jumpMs)
    await pass(60_000)
    assert.equal(statusOf(silent), 'down')
    assert.equal(statusOf(other), 'ready')
  })
