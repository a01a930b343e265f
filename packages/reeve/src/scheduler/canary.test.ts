import assert from 'node:assert/strict'
import test from 'node:test'
import type { Input, Job, TaskGroup, UpdateStrategy } from '@reeve/contract'
import { aGroup, aJob, anId, aTask } from '../../test/build/index.ts'
import { World } from '../../test/build/world.ts'

function service(
  user: string,
  update: Input<UpdateStrategy> = {},
  group: Input<TaskGroup> = {},
): Job {
  const Update = { Canary: 1, ...update }
  return aJob({ groups: [aGroup({ Count: 3, Update, Tasks: [aTask({ User: user })], ...group })] })
}

function running(update: Input<UpdateStrategy> = {}, group: Input<TaskGroup> = {}): World {
  const world = new World(4)
  world.register(service('a', update, group))
  world.obey()
  world.settle()
  return world
}

test('canary: first registration places no canaries', () => {
  const world = new World(4)
  const { placements, deployment } = world.register(service('a'))
  assert.equal(placements.length, 3)
  assert.equal(deployment?.TaskGroups['app']?.DesiredCanaries, 0)
})

test('canary: is placed beside the allocation with its name, without replacements', () => {
  const world = running()
  const { placements, stops, annotations, deployment } = world.register(service('b'))
  assert.deepEqual(stops, [])
  assert.deepEqual(
    placements.map((row) => [row.Name, row.DeploymentStatus?.Canary, row.JobVersion]),
    [['web.app[0]', true, 1]],
  )
  assert.equal(world.live.length, 4)
  assert.equal(annotations.DesiredTGUpdates['app']?.Canary, 1)
  assert.equal(deployment?.StatusDescription, 'Deployment is running but requires manual promotion')
  const state = world.deployment?.TaskGroups['app']
  assert.deepEqual(
    [state?.DesiredCanaries, state?.PlacedCanaries, state?.DesiredTotal],
    [1, placements.map((row) => row.ID), 3],
  )
  world.obey()
  assert.equal(world.settle(), 0, 'until somebody promotes it, nothing more happens')
})

test('canary: auto_promote appears in the status description', () => {
  const { deployment } = running().register(service('b', { AutoPromote: true }))
  assert.equal(deployment?.StatusDescription, 'Deployment is running pending automatic promotion')
})

test('canary: promotion stops its predecessor, then updates the others', () => {
  const world = running()
  const [canary] = world.register(service('b')).placements
  world.obey()
  world.promote()
  const first = world.evaluate()
  assert.deepEqual(first.stops.map((row) => `${row.Name} of ${row.JobVersion}`).toSorted(), [
    'web.app[0] of 0',
    'web.app[1] of 0',
  ])
  assert.deepEqual(
    first.placements.map((row) => row.Name),
    ['web.app[1]'],
  )
  world.obey()
  assert.deepEqual(
    world.evaluate().placements.map((row) => row.Name),
    ['web.app[2]'],
  )
  world.obey()
  assert.equal(world.evaluate().deploymentUpdates[0]?.Status, 'successful')
  assert.deepEqual(world.names, ['web.app[0]', 'web.app[1]', 'web.app[2]'])
  assert.ok(world.live.some((row) => row.ID === canary?.ID))
})

test('canary: canaries beyond the count take the next name indexes', () => {
  const world = running()
  const { placements } = world.register(service('b', { Canary: 5 }))
  assert.deepEqual(
    placements.map((row) => row.Name),
    [0, 1, 2, 3, 4].map((index) => `web.app[${index}]`),
  )
})

test('canary: newer version stops canaries of the previous one', () => {
  const world = running()
  const [canary] = world.register(service('b')).placements
  const third = world.register(service('c'))
  assert.deepEqual(
    third.stops.map((row) => row.ID),
    [canary?.ID],
  )
  assert.deepEqual(
    third.placements.map((row) => [row.JobVersion, row.DeploymentStatus?.Canary]),
    [[2, true]],
  )
})

test('canary: failed deployment stops its canaries', () => {
  const world = running()
  const [canary] = world.register(service('b')).placements
  world.setDeployment({ Status: 'failed' })
  const { stops, placements } = world.evaluate()
  assert.deepEqual(
    [stops.map((row) => row.ID), placements],
    [[canary?.ID], []],
    'and the old ones run on',
  )
  assert.equal(world.live.length, 3)
})

test('canary: paused deployment places none', () => {
  const world = running()
  world.register(service('b', { Canary: 2 }))
  world.setDeployment({ Status: 'paused' })
  const [canary] = world.live.filter((row) => row.JobVersion === 1)
  world.report(canary, { DesiredTransition: { Migrate: true } })
  const { placements, stops } = world.evaluate()
  assert.deepEqual([placements.length, stops.length], [0, 1])
  world.setDeployment({ Status: 'running' })
  assert.equal(world.evaluate().placements.length, 1)
})

const departures = [
  { name: 'whose node is gone', fields: undefined },
  { name: 'that must leave its node', fields: { DesiredTransition: { Migrate: true } } },
]
for (const { name, fields } of departures)
  test(`canary: one ${name} is replaced by a canary`, () => {
    const world = running()
    const [canary] = world.register(service('b')).placements
    if (fields === undefined) world.setNode(canary?.NodeID ?? '', { Status: 'down' })
    else world.report(canary, fields)
    const { placements } = world.evaluate()
    const again = placements.filter((row) => row.DeploymentStatus?.Canary === true)
    assert.deepEqual(
      again.map((row) => [row.Name, row.JobVersion]),
      [['web.app[0]', 1]],
    )
    assert.equal(world.live.length, 4)
  })

test('canary: is replaced even if all other allocations are lost with it', () => {
  const world = running({}, { Count: 1 })
  world.register(service('b', {}, { Count: 1 }))
  for (const row of world.live) world.report(row, { NodeID: anId('node', 99) })
  const { placements } = world.evaluate()
  assert.deepEqual(
    new Map(placements.map((row) => [row.JobVersion, row.DeploymentStatus?.Canary ?? false])),
    new Map([
      [0, false],
      [1, true],
    ]),
  )
  assert.equal(world.settle(), 0)
})

test('canary: failed canary is replaced when the deployment watcher allows it', () => {
  const world = running()
  const [canary] = world.register(service('b')).placements
  world.report(canary, { ClientStatus: 'failed' })
  world.nowMs += 60_000
  assert.deepEqual(world.evaluate().placements, [])
  world.report(canary, { DesiredTransition: { Reschedule: true } })
  const { placements } = world.evaluate()
  assert.deepEqual(
    placements.map((row) => [row.PreviousAllocation, row.DeploymentStatus?.Canary]),
    [[canary?.ID, true]],
  )
})

test('canary: before promotion, replacements run the previous version', () => {
  const world = running()
  world.register(service('b'))
  const [moved, lost, failed] = world.live.filter((row) => row.JobVersion === 0)
  world.report(moved, { DesiredTransition: { Migrate: true } })
  world.report(lost, { NodeID: anId('node', 99) })
  world.report(failed, { ClientStatus: 'failed' })
  world.nowMs += 60_000
  const { placements } = world.evaluate()
  assert.deepEqual(
    placements.map((row) => row.PreviousAllocation ?? '').toSorted(),
    [moved, lost, failed].map((row) => row?.ID ?? '').toSorted(),
  )
  assert.ok(placements.every((row) => row.JobVersion === 0 && row.DeploymentID === undefined))
  assert.equal(world.settle(), 0)
})

test('canary: without a deployed version, the previously running one is used', () => {
  const world = new World(4)
  world.register(service('a'))
  world.setDeployment({ Status: 'failed' })
  world.register(service('b'))
  const lost = world.live.find((row) => row.JobVersion === 0)
  world.report(lost, { NodeID: anId('node', 99) })
  const again = world.evaluate().placements.find((row) => row.PreviousAllocation === lost?.ID)
  assert.equal(again?.JobVersion, 0)
})

test('canary: count does not grow before promotion', () => {
  const world = running()
  const { placements } = world.register(service('b', {}, { Count: 5 }))
  assert.equal(placements.length, 1)
  world.obey()
  world.promote()
  for (let wave = 0; wave < 5; wave++) {
    world.settle()
    world.obey()
  }
  assert.deepEqual(
    world.names,
    [0, 1, 2, 3, 4].map((index) => `web.app[${index}]`),
    'afterwards it does, and each has a name of its own',
  )
})

test('canary: in-place update places no canaries', () => {
  const world = running()
  const { placements, updates } = world.register({ ...service('a'), Priority: 70 })
  assert.deepEqual([placements.length, updates.length], [0, 3])
})
