import assert from 'node:assert/strict'
import test from 'node:test'
import type { Input, TaskGroup } from '@reeve/contract'
import { aGroup, aJob } from '../../test/build/index.ts'
import { World } from '../../test/build/world.ts'

const DRAIN = {
  Deadline: 0,
  IgnoreSystemJobs: false,
  ForceDeadline: '0001-01-01T00:00:00Z',
  StartedAt: '0001-01-01T00:00:00Z',
}

/** One runs; its node is drained, another is free. */
function draining(type = 'service', group: Input<TaskGroup> = {}) {
  const world = new World(2)
  world.register(aJob({ Type: type, groups: [aGroup(group)] }))
  world.obey()
  world.settle()
  const [row] = world.live
  assert.ok(row)
  world.setNode(row.NodeID, { SchedulingEligibility: 'ineligible', DrainStrategy: DRAIN })
  return { world, row }
}

test('drain: the node alone moves nothing', () => {
  const { world } = draining()
  const { stops, placements } = world.evaluate({ TriggeredBy: 'node-drain' })
  assert.deepEqual([stops, placements], [[], []])
})

test('drain: what is marked moves, under its name and linked', () => {
  const { world, row } = draining()
  world.report(row, { DesiredTransition: { Migrate: true } })
  const { stops, placements, deployment } = world.evaluate({ TriggeredBy: 'node-drain' })
  assert.deepEqual(
    placements.map((one) => [one.PreviousAllocation, one.Name, one.NodeID === row.NodeID]),
    [[row.ID, row.Name, false]],
  )
  assert.deepEqual(
    stops.map((one) => [one.ID, one.NextAllocation]),
    [[row.ID, placements[0]?.ID]],
  )
  assert.equal(deployment, undefined, 'a move is no deployment')
})

test('drain: what finds no other place is stopped all the same', () => {
  const { world, row } = draining()
  world.report(row, { DesiredTransition: { Migrate: true } })
  world.nodes = world.nodes.filter((node) => node.ID === row.NodeID)
  const { stops, placements, blocked } = world.evaluate({ TriggeredBy: 'node-drain' })
  assert.deepEqual([stops.length, placements.length], [1, 0])
  assert.ok(blocked)
})

test('drain: batch work at the deadline is stopped, and keeps its place in the count', () => {
  const { world, row } = draining('batch')
  world.report(row, { DesiredTransition: { Migrate: true, MigrateDisablePlacement: true } })
  const { stops, placements } = world.evaluate({ TriggeredBy: 'node-drain' })
  assert.deepEqual([stops.length, placements.length], [1, 0])
  assert.equal(world.settle(), 0)
})

test('drain: batch work at the deadline of which there is a newer version is run again', () => {
  const { world, row } = draining('batch')
  world.report(row, { DesiredTransition: { Migrate: true, MigrateDisablePlacement: true } })
  world.register({ ...aJob({ Type: 'batch' }), Meta: { changed: 'yes' } })
  assert.deepEqual(
    world.live.map(({ ID, JobVersion }) => [ID === row.ID, JobVersion]),
    [[false, 1]],
  )
  assert.equal(world.settle(), 0, 'and not once more')
})

test('drain: a system job leaves the node and does not return to it', () => {
  const world = new World(2)
  world.register(aJob({ Type: 'system' }))
  world.obey()
  world.settle()
  const [row] = world.live
  world.setNode(row?.NodeID ?? '', { SchedulingEligibility: 'ineligible', DrainStrategy: DRAIN })
  assert.deepEqual(world.evaluate().stops, [])
  world.report(row, { DesiredTransition: { Migrate: true } })
  const { stops, placements } = world.evaluate({ TriggeredBy: 'node-drain' })
  assert.deepEqual([stops.map((one) => one.ID), placements], [[row?.ID], []])
})

test('drain: sticky data draws a replacement to where it is', () => {
  const world = new World(3)
  world.register(aJob({ groups: [aGroup({ EphemeralDisk: { Sticky: true } })] }))
  world.obey()
  world.settle()
  const [row] = world.live
  world.report(row, { DesiredTransition: { Migrate: true } })
  assert.equal(world.evaluate().placements[0]?.NodeID, row?.NodeID)
})
