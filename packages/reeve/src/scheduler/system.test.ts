import assert from 'node:assert/strict'
import test from 'node:test'
import {
  aCluster,
  aGroup,
  aJob,
  anAllocation,
  anEvaluation,
  anId,
  aNode,
  aTask,
  nodes,
  planFor,
  seeded,
} from '../../test/build/index.ts'
import { schedule } from './schedule.ts'

const system = aJob({ Type: 'system' })
const on = (number: number, job = system) =>
  anAllocation({ job, ID: anId('alloc', number), NodeID: anId('node', number) })

test('system: one allocation on every ready node with one name', () => {
  const cluster = [...nodes(3), aNode({ ID: anId('node', 9), SchedulingEligibility: 'ineligible' })]
  const { placements, blockedEvaluation } = planFor({ job: system, nodes: cluster })
  assert.deepEqual(
    placements.map((row) => [row.NodeID, row.Name]),
    [1, 2, 3].map((n) => [anId('node', n), 'web.app[0]']),
  )
  assert.equal(blockedEvaluation, undefined)
})

test('system: places missing allocations only', () => {
  const { placements, stops, annotations } = planFor({
    job: system,
    nodes: nodes(2),
    allocations: [on(1)],
  })
  assert.deepEqual(
    placements.map((row) => row.NodeID),
    [anId('node', 2)],
  )
  assert.deepEqual(stops, [])
  assert.deepEqual(
    [annotations.DesiredTGUpdates['app']?.Ignore, annotations.DesiredTGUpdates['app']?.Place],
    [1, 1],
  )
})

test('system: infeasible nodes are ignored', () => {
  const job = aJob({ Type: 'system', Constraints: [{ LTarget: '${node.class}', RTarget: 'a' }] })
  const cluster = [
    aNode({ NodeClass: 'a', ComputedClass: 'v1:a' }),
    aNode({ ID: anId('node', 2), NodeClass: 'b', ComputedClass: 'v1:b' }),
  ]
  const { placements, evaluation } = planFor({ job, nodes: cluster })
  assert.equal(placements.length, 1)
  assert.equal(evaluation.FailedTGAllocs, null)
})

test('system: reports if no node is feasible', () => {
  const job = aJob({ Type: 'system', Constraints: [{ LTarget: '${node.class}', RTarget: 'a' }] })
  const { evaluation, blockedEvaluation } = planFor({ job, nodes: nodes(2) })
  assert.equal(evaluation.FailedTGAllocs?.['app']?.NodesFiltered, 2)
  assert.ok(blockedEvaluation)
})

test('system: exhausted nodes block the evaluation', () => {
  const job = aJob({
    Type: 'system',
    groups: [aGroup({ Tasks: [aTask({ Resources: { CPU: 3_000 } })] })],
  })
  const other = { ...job, ID: 'other' }
  const { placements, evaluation, blockedEvaluation } = planFor({
    job,
    nodes: nodes(3),
    allocations: [on(1, other), on(2, other)],
  })
  assert.equal(placements.length, 1)
  assert.deepEqual(evaluation.QueuedAllocations, { app: 2 })
  assert.deepEqual(evaluation.FailedTGAllocs?.['app']?.DimensionExhausted, { cpu: 2 })
  assert.deepEqual(blockedEvaluation?.ClassEligibility, { 'v1:1': true })
})

test('system: lost allocation is not placed elsewhere', () => {
  const cluster = [aNode({ Status: 'down' }), aNode({ ID: anId('node', 2) })]
  const { placements, stops } = planFor({
    job: system,
    nodes: cluster,
    allocations: [on(1), on(2)],
  })
  assert.deepEqual(
    stops.map((row) => [row.NodeID, row.ClientStatus]),
    [[anId('node', 1), 'lost']],
  )
  assert.deepEqual(placements, [])
})

test('system: failed allocation is replaced, migrating one is stopped', () => {
  const failed = { ...on(1), ClientStatus: 'failed' as const }
  const moving = { ...on(2), DesiredTransition: { Migrate: true } }
  const cluster = [aNode(), aNode({ ID: anId('node', 2), SchedulingEligibility: 'ineligible' })]
  const { placements, stops } = planFor({
    job: system,
    nodes: cluster,
    allocations: [failed, moving],
  })
  assert.deepEqual(
    placements.map((row) => row.NodeID),
    [anId('node', 1)],
  )
  assert.deepEqual(
    stops.map((row) => row.ID),
    [moving.ID],
  )
})

const causes = [
  { cause: 'a node', TriggeredBy: 'node-update', places: 1 },
  { cause: 'the job', TriggeredBy: 'job-register', places: 1 },
  { cause: 'room that came free', TriggeredBy: 'queued-allocs', places: 0 },
  { cause: 'its deployment', TriggeredBy: 'deployment-watcher', places: 0 },
] as const
for (const { cause, TriggeredBy, places } of causes)
  for (const ClientStatus of ['failed', 'complete'] as const)
    test(`system: ${cause} ${places > 0 ? 'places' : 'does not place'} again what is ${ClientStatus}`, () => {
      const cluster = { job: system, nodes: nodes(1), allocations: [{ ...on(1), ClientStatus }] }
      assert.equal(planFor(cluster, { TriggeredBy }).placements.length, places)
    })

test('system: coalesced triggers replace terminal allocations', () => {
  const settled = { ID: anId('eval', 7), TriggeredBy: 'node-update' } as const
  const allocations = [{ ...on(1), ClientStatus: 'failed' as const }]
  const plan = schedule(
    aCluster({ job: system, nodes: 1, allocations }),
    { ...anEvaluation(system), TriggeredBy: 'deployment-watcher' },
    { ...seeded(1), coalescedEvaluations: [settled] },
  )
  assert.equal(plan.placements.length, 1)
})

test('system: new version replaces failed allocations with any trigger', () => {
  const allocations = [{ ...on(1), ClientStatus: 'failed' as const }]
  const job = { ...system, Version: 1 }
  const { placements } = planFor({ job, allocations }, { TriggeredBy: 'deployment-watcher' })
  assert.equal(placements.length, 1)
})

test('system: new version replaces or updates on the same node', () => {
  const before = { ...system, CreateIndex: 1 }
  const job = { ...before, Version: 1 }
  const cluster = { nodes: nodes(2), versions: [before], allocations: [on(1), on(2)] }
  const inPlace = planFor({ ...cluster, job: { ...job, Priority: 90 } })
  assert.deepEqual([inPlace.updates.length, inPlace.placements.length], [2, 0])
  const group = aGroup({ Update: { MaxParallel: 2 }, Tasks: [aTask({ User: 'x' })] })
  const changed = aJob({ Type: 'system', groups: [group] })
  const replaced = planFor({ ...cluster, job: { ...changed, Version: 1, CreateIndex: 1 } })
  assert.deepEqual(
    replaced.placements.map((row) => [row.NodeID, row.PreviousAllocation]),
    [1, 2].map((n) => [anId('node', n), anId('alloc', n)]),
  )
  assert.equal(replaced.stops.length, 2)
})

test('system: infeasible node stops the old version', () => {
  const before = { ...system, CreateIndex: 1 }
  const rule = { LTarget: '${node.class}', RTarget: 'a' }
  const job = { ...aJob({ Type: 'system', Constraints: [rule] }), Version: 1, CreateIndex: 1 }
  const { placements, stops } = planFor({ job, versions: [before], allocations: [on(1)] })
  assert.deepEqual([placements.length, stops.length], [0, 1])
})

test('system: stops on nodes outside the datacenters', () => {
  const job = { ...aJob({ Type: 'system', Datacenters: ['dc2'] }), Version: 1, CreateIndex: 1 }
  const { stops } = planFor({
    job,
    versions: [{ ...system, CreateIndex: 1 }],
    allocations: [on(1)],
  })
  assert.equal(stops.length, 1)
})

test('system: removed or empty group stops everywhere', () => {
  const none = {
    ...aJob({ Type: 'system', groups: [aGroup({ Count: 0 })] }),
    Version: 1,
    CreateIndex: 1,
  }
  const other = {
    ...aJob({ Type: 'system', groups: [aGroup({ Name: 'b' })] }),
    Version: 1,
    CreateIndex: 1,
  }
  for (const job of [none, other]) {
    const { stops } = planFor({ job, nodes: nodes(2), allocations: [on(1), on(2)] })
    assert.equal(stops.length, 2)
  }
})

test('sysbatch: completed work runs again only with a new version', () => {
  const before = { ...aJob({ Type: 'sysbatch' }), CreateIndex: 1 }
  const ended = [1, 2].map((n) => ({ ...on(n, before), ClientStatus: 'complete' as const }))
  const same = planFor({ job: before, nodes: nodes(3), allocations: ended })
  assert.deepEqual(
    same.placements.map((row) => row.NodeID),
    [anId('node', 3)],
  )
  const next = planFor({ job: { ...before, Version: 1 }, nodes: nodes(3), allocations: ended })
  assert.equal(next.placements.length, 3)
})

test('system: triggers of other schedulers are rejected', () => {
  for (const TriggeredBy of ['alloc-reschedule', 'alloc-failure'] as const) {
    const { evaluation } = planFor({ job: system }, { TriggeredBy })
    assert.equal(evaluation.Status, 'failed')
  }
})
