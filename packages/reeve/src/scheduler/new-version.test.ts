import assert from 'node:assert/strict'
import test from 'node:test'
import type { Job } from '@reeve/contract'
import { aGroup, aJob, anAllocation, anId, aNode, aTask, planFor } from '../../test/build/index.ts'
import type { AllocationRow } from '../model/index.ts'

function names(rows: readonly AllocationRow[]): readonly string[] {
  return rows.map((row) => row.Name)
}

function count(job: Job, running: number): readonly AllocationRow[] {
  return Array.from({ length: running }, (_, index) => anAllocation({ job, index }))
}

function version(job: Job, number: number): Job {
  return { ...job, Version: number, CreateIndex: 1 }
}

test('schedule: changed task replaces every allocation with its name', () => {
  const group = { Count: 2, Update: { MaxParallel: 2 } }
  const before = version(aJob({ groups: [aGroup(group)] }), 0)
  const tasks = [aTask({ Config: { command: '/bin/false' } })]
  const job = version(aJob({ groups: [aGroup({ ...group, Tasks: tasks })] }), 1)
  const allocations = count(before, 2)
  const { placements, stops, annotations } = planFor({ job, versions: [before], allocations })
  assert.deepEqual(names(placements), ['web.app[0]', 'web.app[1]'])
  assert.deepEqual(names(stops), ['web.app[0]', 'web.app[1]'])
  assert.deepEqual(
    stops.map((row) => row.NextAllocation),
    placements.map((row) => row.ID),
  )
  assert.ok(placements.every((row) => row.JobVersion === 1))
  assert.equal(annotations.DesiredTGUpdates['app']?.DestructiveUpdate, 2)
})

test('schedule: replacement can use the resources of its predecessor', () => {
  const big = { Resources: { CPU: 3_000 } }
  const before = version(aJob({ groups: [aGroup({ Tasks: [aTask(big)] })] }), 0)
  const tasks = [aTask({ ...big, User: 'x' })]
  const job = version(aJob({ groups: [aGroup({ Tasks: tasks })] }), 1)
  const { placements, stops } = planFor({ job, versions: [before], allocations: count(before, 1) })
  assert.deepEqual([placements.length, stops.length], [1, 1])
})

test('schedule: allocation that cannot be replaced keeps running', () => {
  const before = version(aJob(), 0)
  const tasks = [aTask({ Resources: { CPU: 9_000 } })]
  const job = version(aJob({ groups: [aGroup({ Tasks: tasks })] }), 1)
  const { placements, stops, blockedEvaluation, evaluation } = planFor({
    job,
    versions: [before],
    allocations: count(before, 1),
  })
  assert.deepEqual([placements, stops], [[], []])
  assert.deepEqual(evaluation.QueuedAllocations, { app: 1 })
  assert.ok(blockedEvaluation)
})

test('schedule: changed service is updated in place', () => {
  const before = version(aJob(), 0)
  const job = version(aJob({ groups: [aGroup({ Services: [{ Name: 's' }] })] }), 1)
  const allocations = count(before, 1)
  const { placements, stops, updates, evaluation } = planFor({
    job,
    versions: [before],
    allocations,
  })
  assert.deepEqual([placements, stops], [[], []])
  assert.deepEqual(
    updates.map((row) => [row.ID, row.JobVersion, row.EvalID, row.Metrics]),
    [[allocations[0]?.ID, 1, evaluation.ID, allocations[0]?.Metrics]],
  )
})

test('schedule: new constraint replaces only allocations that violate it', () => {
  const before = version(aJob({ groups: [aGroup({ Count: 2 })] }), 0)
  const rule = { LTarget: '${meta.rack}', RTarget: 'r2' }
  const job = version(aJob({ Constraints: [rule], groups: [aGroup({ Count: 2 })] }), 1)
  const racks = [
    aNode({ Meta: { rack: 'r1' }, ComputedClass: 'v1:1' }),
    aNode({ ID: anId('node', 2), Meta: { rack: 'r2' }, ComputedClass: 'v1:2' }),
  ]
  const allocations = [0, 1].map((index) =>
    anAllocation({ job: before, index, NodeID: anId('node', index + 1) }),
  )
  const { placements, stops, updates } = planFor({
    nodes: racks,
    job,
    versions: [before],
    allocations,
  })
  assert.deepEqual(names(updates), ['web.app[1]'])
  assert.deepEqual(names(stops), ['web.app[0]'])
  assert.equal(placements[0]?.NodeID, anId('node', 2))
})

test('schedule: allocations leave a removed datacenter', () => {
  const before = version(aJob(), 0)
  const job = version(aJob({ Datacenters: ['eu-*'] }), 1)
  const there = aNode({ ID: anId('node', 2), Datacenter: 'eu-1' })
  const allocations = count(before, 1)
  const { placements, stops } = planFor({
    nodes: [aNode(), there],
    job,
    versions: [before],
    allocations,
  })
  assert.equal(stops.length, 1)
  assert.equal(placements[0]?.NodeID, there.ID)
})

test('schedule: version numbers are not compared across a purge', () => {
  const job = { ...aJob(), CreateIndex: 50 }
  const allocations = [anAllocation({ job, CreateIndex: 10 })]
  const { placements, stops } = planFor({ job, allocations })
  assert.deepEqual([placements.length, stops.length], [1, 1])
})

test('schedule: allocation of a deleted version is replaced', () => {
  const job = version(aJob(), 9)
  const allocations = [anAllocation({ job: version(aJob(), 1) })]
  const { placements, stops } = planFor({ job, allocations })
  assert.deepEqual([placements.length, stops.length], [1, 1])
})
