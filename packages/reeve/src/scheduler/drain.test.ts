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

/** One allocation runs on a draining node; another node is free. */
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

test('drain: draining node alone migrates nothing', () => {
  const { world } = draining()
  const { stops, placements } = world.evaluate({ TriggeredBy: 'node-drain' })
  assert.deepEqual([stops, placements], [[], []])
})

test('drain: marked allocation migrates with its name and links', () => {
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

test('drain: allocation without another feasible node is stopped anyway', () => {
  const { world, row } = draining()
  world.report(row, { DesiredTransition: { Migrate: true } })
  world.nodes = world.nodes.filter((node) => node.ID === row.NodeID)
  const { stops, placements, blockedEvaluation } = world.evaluate({ TriggeredBy: 'node-drain' })
  assert.deepEqual([stops.length, placements.length], [1, 0])
  assert.ok(blockedEvaluation)
})

test('drain: batch work is stopped at the deadline and still counts', () => {
  const { world, row } = draining('batch')
  world.report(row, { DesiredTransition: { Migrate: true, MigrateDisablePlacement: true } })
  const { stops, placements } = world.evaluate({ TriggeredBy: 'node-drain' })
  assert.deepEqual([stops.length, placements.length], [1, 0])
  assert.equal(world.settle(), 0)
})

test('drain: batch work with a newer version runs again after the deadline', () => {
  const { world, row } = draining('batch')
  world.report(row, { DesiredTransition: { Migrate: true, MigrateDisablePlacement: true } })
  world.register({ ...aJob({ Type: 'batch' }), Meta: { changed: 'yes' } })
  assert.deepEqual(
    world.live.map(({ ID, JobVersion }) => [ID === row.ID, JobVersion]),
    [[false, 1]],
  )
  assert.equal(world.settle(), 0, 'and not once more')
})

test('drain: system job stops on the node and is not placed there again', () => {
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

test('drain: sticky disk prefers the node of its data', () => {
  const world = new World(3)
  world.register(aJob({ groups: [aGroup({ EphemeralDisk: { Sticky: true } })] }))
  world.obey()
  world.settle()
  const [row] = world.live
  world.report(row, { DesiredTransition: { Migrate: true } })
  assert.equal(world.evaluate().placements[0]?.NodeID, row?.NodeID)
})
