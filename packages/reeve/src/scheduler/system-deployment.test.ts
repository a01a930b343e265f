import assert from 'node:assert/strict'
import test from 'node:test'
import type { Input, Job, UpdateStrategy } from '@reeve/contract'
import { aGroup, aJob, anId, aNode, aTask, nodes } from '../../test/build/index.ts'
import { World } from '../../test/build/world.ts'

function system(user: string, update: Input<UpdateStrategy> = {}): Job {
  return aJob({
    Type: 'system',
    groups: [aGroup({ Update: update, Tasks: [aTask({ User: user })] })],
  })
}

function running(count: number, update: Input<UpdateStrategy> = {}): World {
  const world = new World(count)
  world.register(system('a', update))
  world.obey()
  world.settle()
  return world
}

test('system deployment: first deployment is successful when all are healthy', () => {
  const world = new World(3)
  const { placements, deployment } = world.register(system('a'))
  assert.equal(placements.length, 3)
  assert.equal(deployment?.TaskGroups['app']?.DesiredTotal, 3)
  assert.ok(placements.every((row) => row.DeploymentID === deployment?.ID))
  world.obey()
  assert.equal(world.evaluate().deploymentUpdates[0]?.Status, 'successful')
  assert.equal(world.job.Stable, true)
  assert.equal(world.settle(), 0)
})

test('system deployment: updates max_parallel nodes at a time', () => {
  const world = running(5, { MaxParallel: 2 })
  world.register(system('b', { MaxParallel: 2 }))
  const waves = [2, 4, 5].map((want) => {
    const updated = world.live.filter((row) => row.JobVersion === 1).length
    assert.equal(updated, want)
    assert.equal(world.live.length, 5)
    world.obey()
    return world.evaluate()
  })
  assert.equal(waves.at(-1)?.deploymentUpdates[0]?.Status, 'successful')
})

test('system deployment: stops while unhealthy, paused or failed', () => {
  for (const Status of ['running', 'paused', 'failed'] as const) {
    const world = running(3)
    const { placements } = world.register(system('b'))
    world.health(placements, Status !== 'running')
    world.setDeployment({ Status })
    assert.deepEqual(world.evaluate().placements, [], Status)
  }
})

const INELIGIBLE = { SchedulingEligibility: 'ineligible' } as const
const closedNodes = [
  { status: 'running', stops: 1 },
  { status: 'paused', stops: 0 },
  { status: 'failed', stops: 0 },
] as const
for (const { status, stops } of closedNodes)
  test(`system deployment: while it is ${status}, an ineligible node loses ${stops}`, () => {
    const world = running(3)
    const { placements } = world.register(system('b'))
    world.health(placements, true)
    world.setDeployment({ Status: status })
    const old = world.live.find((row) => row.JobVersion === 0)
    world.setNode(old?.NodeID ?? '', INELIGIBLE)
    const plan = world.evaluate({ TriggeredBy: 'node-update' })
    const ended = plan.stops.filter((row) => row.NextAllocation === undefined)
    assert.deepEqual(
      ended.map((row) => row.ID),
      stops === 0 ? [] : [old?.ID],
    )
    if (status === 'failed') return
    world.setDeployment({ Status: 'running' })
    for (let wave = 0; wave < 5; wave++) {
      world.settle()
      world.obey()
    }
    assert.ok(world.live.every((row) => row.JobVersion === 1))
    assert.deepEqual([world.live.length, world.deployment?.Status], [2, 'successful'])
  })

test('system canary: ineligible node keeps the old version until promotion', () => {
  const update = { Canary: 50, MaxParallel: 4 }
  const world = running(3, update)
  const [old] = world.live
  world.setNode(old?.NodeID ?? '', INELIGIBLE)
  const { stops } = world.register(system('b', update))
  assert.deepEqual([stops.length, stops.some((row) => row.ID === old?.ID)], [1, false])
  world.obey()
  assert.equal(world.settle(), 0)
  world.promote()
  assert.ok(world.evaluate().stops.some((row) => row.ID === old?.ID))
})

test('system deployment: completes when the only unhealthy node leaves', () => {
  const world = new World(3)
  const { placements, deployment } = world.register(system('a'))
  world.health(placements.slice(0, 2), true)
  world.setNode(placements[2]?.NodeID ?? '', { Status: 'down' })
  const [ended] = world.evaluate({ TriggeredBy: 'node-update' }).deploymentUpdates
  assert.deepEqual([ended?.ID, ended?.Status], [deployment?.ID, 'successful'])
  assert.equal(ended?.TaskGroups['app']?.DesiredTotal, 2)
})

const shares = [
  { canary: 30, nodes: 10, parallel: 10, want: 3 },
  { canary: 1, nodes: 10, parallel: 10, want: 1 },
  { canary: 25, nodes: 5, parallel: 10, want: 2 },
  { canary: 100, nodes: 5, parallel: 2, want: 2 },
]
for (const { canary, nodes: count, parallel, want } of shares)
  test(`system canary: ${canary}% of ${count} nodes, ${parallel} parallel, are ${want}`, () => {
    const update = { Canary: canary, MaxParallel: parallel }
    const world = running(count, update)
    const { placements, stops, deployment } = world.register(system('b', update))
    assert.equal(placements.length, want)
    assert.equal(stops.length, want, 'each takes the place of the old one on its node')
    assert.ok(placements.every((row) => row.DeploymentStatus?.Canary === true))
    assert.equal(deployment?.TaskGroups['app']?.DesiredCanaries, want)
    world.obey()
    assert.equal(world.settle(), 0)
    world.promote()
    for (let wave = 0; wave <= count; wave++) {
      world.settle()
      world.obey()
    }
    assert.ok(world.live.every((row) => row.JobVersion === 1))
    assert.equal(world.live.length, count)
    assert.equal(world.deployment?.Status, 'successful')
  })

test('system canary: node joining before promotion gets the old version', () => {
  const update = { Canary: 50, MaxParallel: 4 }
  const world = running(2, update)
  world.register(system('b', update))
  world.nodes = [...world.nodes, aNode({ ID: anId('node', 9), Name: 'node-9' })]
  const { placements } = world.evaluate({ TriggeredBy: 'node-update' })
  assert.deepEqual(
    placements.map((row) => [row.NodeID, row.JobVersion, row.DeploymentID]),
    [[anId('node', 9), 0, undefined]],
  )
})

test('system deployment: joining and leaving nodes change the total', () => {
  const world = running(3)
  world.register(system('b'))
  world.obey()
  const gone = world.live.find((row) => row.JobVersion === 0)
  world.setNode(gone?.NodeID ?? '', { Status: 'down' })
  world.nodes = [...world.nodes, aNode({ ID: anId('node', 9), Name: 'node-9' })]
  for (let wave = 0; wave < 5; wave++) {
    world.settle()
    world.obey()
  }
  assert.equal(world.deployment?.Status, 'successful')
  assert.equal(world.live.length, 3)
})

test('system deployment: joining node creates no deployment', () => {
  const world = running(2)
  world.nodes = nodes(3)
  const { placements, deployment } = world.evaluate({ TriggeredBy: 'node-update' })
  assert.deepEqual([placements.length, deployment], [1, undefined])
})

test('system deployment: max_parallel 0 updates all nodes together', () => {
  const world = running(3, { MaxParallel: 0 })
  const { placements, deployment } = world.register(system('b', { MaxParallel: 0 }))
  assert.deepEqual([placements.length, deployment], [3, undefined])
})

test('sysbatch: has no deployments and stops surplus allocations', () => {
  const world = new World(2)
  const job = (count: number) => aJob({ Type: 'sysbatch', groups: [aGroup({ Count: count })] })
  const { placements, deployment } = world.register(job(2))
  assert.deepEqual(
    [placements.map((row) => row.Name).toSorted(), deployment],
    [['web.app[0]', 'web.app[0]', 'web.app[1]', 'web.app[1]'], undefined],
  )
  world.obey()
  const { stops } = world.register(job(1))
  assert.deepEqual(
    stops.map((row) => row.Name),
    ['web.app[1]', 'web.app[1]'],
  )
})
