import assert from 'node:assert/strict'
import test from 'node:test'
import { Evaluation, type Job } from '@reeve/contract'
import { Value } from 'typebox/value'
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
  NOW_MS,
  planFor,
  seeded,
} from '../../test/build/index.ts'
import { nsFromMs } from '@reeve/kit/duration.ts'
import type { AllocationRow } from '../model/index.ts'
import { schedule } from './schedule.ts'

function names(rows: readonly AllocationRow[]): readonly string[] {
  return rows.map((row) => row.Name)
}

function count(job: Job, running: number): readonly AllocationRow[] {
  return Array.from({ length: running }, (_, index) => anAllocation({ job, index }))
}

const counts = [
  { name: 'fills the missing count', count: 3, running: 1, places: 2, stops: 0 },
  { name: 'leaves a met count alone', count: 2, running: 2, places: 0, stops: 0 },
  { name: 'stops what is too much', count: 1, running: 3, places: 0, stops: 2 },
  { name: 'stops everything at zero', count: 0, running: 2, places: 0, stops: 2 },
]
for (const c of counts)
  test(`schedule: ${c.name}`, () => {
    const job = aJob({ groups: [aGroup({ Count: c.count })] })
    const { placements, stops } = planFor({ nodes: 2, job, allocations: count(job, c.running) })
    assert.equal(placements.length, c.places)
    assert.equal(stops.length, c.stops)
  })

test('schedule: a placement is a complete row', () => {
  const job = { ...aJob(), Version: 4, CreateIndex: 5 }
  const { placements, evaluation, deployment } = planFor({ job })
  assert.deepEqual(placements, [
    {
      ID: anId('any', 2),
      Namespace: 'default',
      EvalID: evaluation.ID,
      Name: 'web.app[0]',
      NodeID: anId('node', 1),
      NodeName: 'node-1',
      JobID: 'web',
      JobType: 'service',
      JobVersion: 4,
      TaskGroup: 'app',
      DesiredStatus: 'run',
      ClientStatus: 'pending',
      AllocatedResources: {
        Tasks: {
          main: {
            Cpu: { CpuShares: 100, ReservedCores: null },
            Memory: { MemoryMB: 300, MemoryMaxMB: 0 },
            Networks: null,
            Devices: null,
          },
        },
        TaskLifecycles: { main: null },
        Shared: { Networks: null, DiskMB: 300, Ports: null },
      },
      Metrics: {
        NodesEvaluated: 1,
        NodesInPool: 1,
        NodePool: 'default',
        NodesAvailable: { dc1: 1 },
        Best: `${anId('node', 1)} 0.076003`,
      },
      CreateIndex: 0,
      ModifyIndex: 0,
      AllocModifyIndex: 0,
      CreateTime: nsFromMs(NOW_MS),
      ModifyTime: nsFromMs(NOW_MS),
      DeploymentID: deployment?.ID,
    },
  ])
})

test('schedule: evaluation completes with queued counts', () => {
  const job = aJob()
  const { evaluation, blockedEvaluation, annotations } = planFor({ job })
  assert.deepEqual([...Value.Errors(Evaluation, evaluation)], [])
  assert.equal(evaluation.Status, 'complete')
  assert.deepEqual(evaluation.QueuedAllocations, { app: 0 })
  assert.equal(evaluation.FailedTGAllocs, null)
  assert.equal(evaluation.SnapshotIndex, 1_000)
  assert.equal(evaluation.PlanAnnotations, null)
  assert.equal(blockedEvaluation, undefined)
  assert.equal(annotations.DesiredTGUpdates['app']?.Place, 1)
})

test('schedule: annotates the plan if requested', () => {
  const job = aJob()
  const { evaluation, annotations } = planFor({ job }, { AnnotatePlan: true })
  assert.deepEqual(evaluation.PlanAnnotations, annotations)
})

test('schedule: new allocations take the lowest free indexes', () => {
  const job = aJob({ groups: [aGroup({ Count: 4 })] })
  const allocations = [1, 3].map((index) => anAllocation({ job, index }))
  const { placements } = planFor({ job, allocations })
  assert.deepEqual(names(placements), ['web.app[0]', 'web.app[2]'])
})

test('schedule: the highest indexes are stopped first', () => {
  const job = aJob({ groups: [aGroup({ Count: 1 })] })
  const { stops } = planFor({ job, allocations: count(job, 3) })
  assert.deepEqual(names(stops), ['web.app[2]', 'web.app[1]'])
  assert.ok(stops.every((row) => row.DesiredStatus === 'stop' && row.DesiredDescription !== ''))
})

test('schedule: migrating and permanently failed ones are stopped first', () => {
  const job = aJob({
    Type: 'batch',
    groups: [aGroup({ Count: 1, ReschedulePolicy: { Attempts: 0 } })],
  })
  const allocations = [
    anAllocation({ job, index: 0, ClientStatus: 'failed' }),
    anAllocation({ job, index: 1, DesiredTransition: { Migrate: true } }),
    anAllocation({ job, index: 2 }),
  ]
  const { stops, placements } = planFor({ nodes: 2, job, allocations })
  assert.deepEqual(names(stops).toSorted(), ['web.app[0]', 'web.app[1]'])
  assert.deepEqual(placements, [])
})

test('schedule: stopped job stops all allocations', () => {
  const job = { ...aJob({ groups: [aGroup({ Count: 2 })] }), Stop: true }
  const allocations = [
    ...count(job, 2),
    anAllocation({ job, index: 2, ClientStatus: 'complete' }),
    anAllocation({ job, index: 3, DesiredStatus: 'stop' }),
  ]
  const { stops, placements, annotations } = planFor({ job, allocations })
  assert.deepEqual(names(stops), ['web.app[0]', 'web.app[1]'])
  assert.deepEqual(placements, [])
  assert.equal(annotations.DesiredTGUpdates['app']?.Stop, 2)
})

test('schedule: purged job stops all; those on a down node are lost', () => {
  const job = aJob()
  const allocations = [
    anAllocation({ job, index: 0 }),
    anAllocation({ job, index: 1, NodeID: anId('node', 2) }),
  ]
  const cluster = aCluster({
    nodes: [aNode(), aNode({ ID: anId('node', 2), Status: 'down' })],
    allocations,
  })
  const { stops, evaluation } = schedule(cluster, anEvaluation(job), seeded(1))
  assert.deepEqual(
    stops.map((row) => row.ClientStatus),
    ['running', 'lost'],
  )
  assert.deepEqual(evaluation.QueuedAllocations, {})
})

test('schedule: parent job runs nothing itself', () => {
  const parents = [{ Periodic: { Spec: '@daily' } }, { ParameterizedJob: {} }]
  for (const parent of parents)
    assert.deepEqual(planFor({ job: aJob({ Type: 'batch', ...parent }) }).placements, [])
  const child = aJob({ Type: 'batch', ParameterizedJob: {}, Dispatched: true })
  assert.equal(planFor({ job: child }).placements.length, 1)
})

test('schedule: removed group is stopped', () => {
  const before = aJob({ groups: [aGroup({ Name: 'old' })] })
  const job = { ...aJob(), Version: 1 }
  const { stops, placements } = planFor({
    job,
    versions: [before],
    allocations: [anAllocation({ job: before })],
  })
  assert.deepEqual(names(stops), ['web.old[0]'])
  assert.deepEqual(names(placements), ['web.app[0]'])
})

test('schedule: unplaced allocations wait in a blocked evaluation', () => {
  const job = aJob({
    groups: [aGroup({ Count: 5, Tasks: [aTask({ Resources: { CPU: 1_500 } })] })],
  })
  const { placements, evaluation, blockedEvaluation } = planFor({ nodes: 2, job })
  assert.equal(placements.length, 4)
  assert.ok(blockedEvaluation)
  assert.deepEqual([...Value.Errors(Evaluation, blockedEvaluation)], [])
  assert.deepEqual([...Value.Errors(Evaluation, evaluation)], [])
  assert.equal(evaluation.Status, 'complete')
  assert.equal(evaluation.BlockedEval, blockedEvaluation.ID)
  assert.deepEqual(evaluation.QueuedAllocations, { app: 1 })
  assert.equal(blockedEvaluation.Status, 'blocked')
  assert.equal(blockedEvaluation.TriggeredBy, 'queued-allocs')
  assert.equal(blockedEvaluation.PreviousEval, evaluation.ID)
  assert.equal(blockedEvaluation.SnapshotIndex, 1_000)
  assert.deepEqual(blockedEvaluation.ClassEligibility, { 'v1:1': true })
  assert.equal(blockedEvaluation.EscapedComputedClass, false)
})

test('schedule: first failure has metrics, others are counted', () => {
  const task = aTask({ Resources: { CPU: 5_000, MemoryMB: 400 } })
  const job = aJob({ groups: [aGroup({ Count: 3, Tasks: [task] })] })
  const { evaluation } = planFor({ nodes: [...nodes(2, { NodeClass: 'small' })], job })
  assert.deepEqual(evaluation.FailedTGAllocs, {
    app: {
      NodesEvaluated: 2,
      NodesFiltered: 0,
      NodesInPool: 2,
      NodePool: 'default',
      NodesAvailable: { dc1: 2 },
      ClassFiltered: null,
      ConstraintFiltered: null,
      NodesExhausted: 2,
      ClassExhausted: { small: 2 },
      DimensionExhausted: { cpu: 2 },
      QuotaExhausted: null,
      ResourcesExhausted: { main: { CPU: 15_000, MemoryMB: 0, DiskMB: 0, Networks: null } },
      Scores: null,
      ScoreMetaData: null,
      AllocationTime: 0,
      CoalescedFailures: 2,
    },
  })
  assert.deepEqual(evaluation.QueuedAllocations, { app: 3 })
})

test('schedule: one failed group does not block another', () => {
  const job = aJob({
    groups: [
      aGroup({ Name: 'big', Tasks: [aTask({ Resources: { MemoryMB: 99_999 } })] }),
      aGroup({ Name: 'small' }),
    ],
  })
  const { placements, evaluation } = planFor({ job })
  assert.deepEqual(names(placements), ['web.small[0]'])
  assert.deepEqual(evaluation.QueuedAllocations, { big: 1, small: 0 })
})

test('schedule: blocked evaluation keeps its record', () => {
  const job = aJob({ groups: [aGroup({ Tasks: [aTask({ Resources: { CPU: 9_000 } })] })] })
  const first = planFor({ job }).blockedEvaluation
  assert.ok(first)
  const again = schedule(aCluster({ job }), first, seeded(2))
  assert.equal(again.evaluation.ID, first.ID)
  assert.equal(again.evaluation.Status, 'blocked')
  assert.deepEqual(again.evaluation.ClassEligibility, { 'v1:1': true })
  assert.equal(again.blockedEvaluation, undefined)
  const bigger = aNode({
    NodeResources: {
      ...aNode().NodeResources,
      Cpu: { CpuShares: 20_000, TotalCpuCores: 8, ReservableCpuCores: null },
    },
  })
  const done = schedule(aCluster({ job, nodes: [bigger] }), first, seeded(2))
  assert.equal(done.evaluation.Status, 'complete')
  assert.equal(done.evaluation.ID, first.ID)
  assert.equal(done.placements.length, 1)
})

test('schedule: ineligible classes do not unblock the evaluation', () => {
  const rule = { LTarget: '${attr.kernel.name}', RTarget: 'windows' }
  const job = aJob({ Constraints: [rule] })
  const { blockedEvaluation } = planFor({ nodes: 2, job })
  assert.deepEqual(blockedEvaluation?.ClassEligibility, { 'v1:1': false })
})

test('schedule: unique constraint escapes computed classes', () => {
  const job = aJob({ Constraints: [{ LTarget: '${node.unique.name}', RTarget: 'other' }] })
  const { blockedEvaluation } = planFor({ nodes: 2, job })
  assert.equal(blockedEvaluation?.EscapedComputedClass, true)
  assert.equal(blockedEvaluation?.ClassEligibility, null)
})

test('schedule: unexpected trigger fails the evaluation', () => {
  const job = aJob()
  const { evaluation, placements } = planFor({ job }, { TriggeredBy: 'scheduled' })
  assert.equal(evaluation.Status, 'failed')
  assert.match(evaluation.StatusDescription, /scheduled/)
  assert.deepEqual(placements, [])
})

test('schedule: job type decides, not the type of the evaluation', () => {
  const job = aJob({ Type: 'batch' })
  const { placements } = planFor(
    { job, allocations: [anAllocation({ job, ClientStatus: 'complete' })] },
    { Type: 'service', TriggeredBy: 'job-deregister' },
  )
  assert.deepEqual(placements, [])
})

test('schedule: cluster without nodes blocks instead of failing', () => {
  const job = aJob()
  const { evaluation, blockedEvaluation } = planFor({ nodes: [], job })
  assert.equal(evaluation.Status, 'complete')
  assert.equal(evaluation.FailedTGAllocs?.['app']?.NodesEvaluated, 0)
  assert.deepEqual(blockedEvaluation?.ClassEligibility, {})
})
