import assert from 'node:assert/strict'
import test from 'node:test'
import type { Job } from '@reeve/contract'
import { aGroup, aJob, anId, aTask } from '../../test/build/index.ts'
import { World } from '../../test/build/world.ts'
import { isoFromMs, nsFromMs } from '@reeve/kit/duration.ts'

function running(job: Job, nodes = 3): World {
  const world = new World(nodes)
  world.register(job)
  world.obey()
  world.settle()
  return world
}

function loseFirst(world: World) {
  const [row] = world.live
  assert.ok(row)
  world.setNode(row.NodeID, { Status: 'down' })
  return { row, plan: world.evaluate({ TriggeredBy: 'node-update' }) }
}

test('lost: replaced immediately and linked, not counted as a failure', () => {
  const { row, plan } = loseFirst(running(aJob({ groups: [aGroup({ Count: 2 })] })))
  const lost = plan.stops.find((one) => one.ID === row.ID)
  const [placed] = plan.placements.filter((one) => one.PreviousAllocation === row.ID)
  assert.deepEqual(
    [lost?.ClientStatus, lost?.DesiredStatus, lost?.NextAllocation],
    ['lost', 'stop', placed?.ID],
  )
  assert.equal(placed?.Name, row.Name)
  assert.equal(placed?.RescheduleTracker, undefined)
  assert.notEqual(placed?.NodeID, row.NodeID)
})

test('lost: replaced even if the policy never reschedules', () => {
  const group = aGroup({ ReschedulePolicy: { Attempts: 0, Unlimited: false } })
  assert.equal(loseFirst(running(aJob({ groups: [group] }))).plan.placements.length, 1)
})

const fates = [
  { name: 'is down', status: 'down' },
  { name: 'is disconnected', status: 'disconnected' },
  { name: 'is gone', status: undefined },
] as const
for (const { name, status } of fates)
  test(`lost: description contains that the node ${name}`, () => {
    const world = running(aJob({ groups: [aGroup()] }), 2)
    const [row] = world.live
    assert.ok(row)
    if (status === undefined) world.nodes = world.nodes.filter((node) => node.ID !== row.NodeID)
    else world.setNode(row.NodeID, { Status: status })
    const [lost] = world.evaluate({ TriggeredBy: 'node-update' }).stops
    assert.deepEqual(
      [lost?.DesiredDescription, lost?.ClientDescription],
      [`allocation is lost: its node ${name}`, `Node ${name}`],
    )
  })

const stoppedJobs = [
  { name: 'a service', type: 'service', node: 'down', status: 'lost' },
  { name: 'a system job', type: 'system', node: 'down', status: 'lost' },
  { name: 'a job on a node that may come back', type: 'service', node: 'disconnected' },
] as const
for (const { name, type, node, ...rest } of stoppedJobs)
  test(`lost: stopping allocation is lost with its node: ${name}`, () => {
    const world = running(aJob({ Type: type, groups: [aGroup()] }), 1)
    const [row] = world.live
    assert.ok(row)
    world.report(row, { DesiredStatus: 'stop' })
    world.setNode(row.NodeID, { Status: node })
    const { attributeUpdates } = world.evaluate({ TriggeredBy: 'node-update' })
    const found = attributeUpdates.find((one) => one.ID === row.ID)?.ClientStatus
    assert.equal(found, 'status' in rest ? rest.status : undefined)
  })

const STOP_AFTER_MS = 60_000
function alone(killMs: number): Job {
  const group = aGroup({
    Count: 2,
    Disconnect: { StopOnClientAfter: nsFromMs(STOP_AFTER_MS) },
    Tasks: [aTask({ KillTimeout: nsFromMs(killMs) })],
  })
  return aJob({ groups: [group] })
}

const waits = [
  { name: 'for five seconds beyond stop_on_client_after', killMs: 1_000, waitMs: 65_000 },
  { name: 'as long as its tasks may take to stop', killMs: 20_000, waitMs: 80_000 },
]
for (const { name, killMs, waitMs } of waits)
  test(`lost: waits for stop_on_client_after, ${name}`, () => {
    const world = running(alone(killMs))
    const { row, plan } = loseFirst(world)
    assert.deepEqual(plan.placements, [])
    assert.ok(plan.stops.every((one) => one.ClientStatus === 'lost'))
    const [follow] = plan.followUpEvaluations
    assert.deepEqual(
      [follow?.TriggeredBy, follow?.WaitUntil],
      ['alloc-failure', isoFromMs(world.nowMs + waitMs)],
    )
    assert.equal(world.rows.get(row.ID)?.FollowupEvalID, follow?.ID)
    world.nowMs += waitMs - 1
    assert.deepEqual(world.evaluate().placements, [], 'other evaluations wait too')
    world.nowMs += 1
    const { placements } = world.evaluate({ TriggeredBy: 'alloc-failure' })
    assert.ok(placements.some((one) => one.PreviousAllocation === row.ID && one.Name === row.Name))
    assert.equal(placements.length, plan.stops.length)
    assert.equal(world.settle(), 0)
  })

const turns = [
  { name: 'carried out', over: false },
  { name: 'carried out before, when there was no room', over: true },
]
for (const { name, over } of turns)
  test(`lost: clock set back waits no longer than the follow-up, ${name}`, () => {
    const world = running(alone(0))
    const { row, plan } = loseFirst(world)
    const [follow] = plan.followUpEvaluations
    assert.ok(follow)
    world.nowMs -= 100_000
    assert.deepEqual(world.evaluate().placements, [], 'the follow-up is still to come')
    if (over) world.over.push(follow.ID)
    const ID = over ? anId('eval', 7) : follow.ID
    const { placements } = world.evaluate({ ID, TriggeredBy: 'alloc-failure' })
    assert.ok(placements.some((one) => one.PreviousAllocation === row.ID))
  })

test('lost: surplus allocation is not replaced after the wait', () => {
  const world = running(alone(0))
  loseFirst(world)
  const job = alone(0)
  world.register({ ...job, TaskGroups: job.TaskGroups.map((group) => ({ ...group, Count: 0 })) })
  world.nowMs += STOP_AFTER_MS * 2
  assert.deepEqual(world.evaluate().placements, [])
})
