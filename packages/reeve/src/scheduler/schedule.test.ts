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
  seeded,
  type ClusterParts,
} from '../../test/build/index.ts'
import { isoFromMs, nsFromMs, ZERO_TIME } from '../kit/duration.ts'
import type { AllocationRow } from '../model/index.ts'
import type { Plan } from './plan.ts'
import { schedule } from './schedule.ts'

const NOW = 1_700_000_000_000

function plan(parts: ClusterParts & { job: Job }, fields: Partial<Evaluation> = {}): Plan {
  return schedule(aCluster(parts), anEvaluation(parts.job, fields), seeded(1, NOW))
}

function names(rows: readonly AllocationRow[]): readonly string[] {
  return rows.map((row) => row.Name)
}

function count(job: Job, running: number, fields: Partial<AllocationRow> = {}) {
  return Array.from({ length: running }, (_, index) => anAllocation({ job, index, ...fields }))
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
    const { placements, stops } = plan({ nodes: 2, job, allocations: count(job, c.running) })
    assert.equal(placements.length, c.places)
    assert.equal(stops.length, c.stops)
  })

test('schedule: a placement is a complete row', () => {
  const job = { ...aJob(), Version: 4, CreateIndex: 5 }
  const { placements, evaluation } = plan({ job })
  assert.deepEqual(placements, [
    {
      ID: anId('any', 1),
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
        Best: [[anId('node', 1), 0.076003]],
      },
      CreateIndex: 0,
      ModifyIndex: 0,
      AllocModifyIndex: 0,
      CreateTime: nsFromMs(NOW),
      ModifyTime: nsFromMs(NOW),
    },
  ])
})

test('schedule: the evaluation is complete and says what is queued', () => {
  const job = aJob()
  const { evaluation, blocked, annotations } = plan({ job })
  assert.deepEqual([...Value.Errors(Evaluation, evaluation)], [])
  assert.equal(evaluation.Status, 'complete')
  assert.deepEqual(evaluation.QueuedAllocations, { app: 0 })
  assert.equal(evaluation.FailedTGAllocs, null)
  assert.equal(evaluation.SnapshotIndex, 1_000)
  assert.equal(evaluation.PlanAnnotations, null)
  assert.equal(blocked, undefined)
  assert.equal(annotations.DesiredTGUpdates['app']?.Place, 1)
})

test('schedule: an evaluation that asks for annotations gets them', () => {
  const job = aJob()
  const { evaluation, annotations } = plan({ job }, { AnnotatePlan: true })
  assert.deepEqual(evaluation.PlanAnnotations, annotations)
})

// Names.

test('schedule: new allocations take the lowest free indexes', () => {
  const job = aJob({ groups: [aGroup({ Count: 4 })] })
  const allocations = [1, 3].map((index) => anAllocation({ job, index }))
  const { placements } = plan({ job, allocations })
  assert.deepEqual(names(placements), ['web.app[0]', 'web.app[2]'])
})

test('schedule: the highest indexes are stopped first', () => {
  const job = aJob({ groups: [aGroup({ Count: 1 })] })
  const { stops } = plan({ job, allocations: count(job, 3) })
  assert.deepEqual(names(stops), ['web.app[2]', 'web.app[1]'])
  assert.ok(stops.every((row) => row.DesiredStatus === 'stop' && row.DesiredDescription !== ''))
})

test('schedule: before those, what must move anyway and what has failed for good', () => {
  const job = aJob({
    Type: 'batch',
    groups: [aGroup({ Count: 1, ReschedulePolicy: { Attempts: 0 } })],
  })
  const allocations = [
    anAllocation({ job, index: 0, ClientStatus: 'failed' }),
    anAllocation({ job, index: 1, DesiredTransition: { Migrate: true } }),
    anAllocation({ job, index: 2 }),
  ]
  const { stops, placements } = plan({ nodes: 2, job, allocations })
  assert.deepEqual(names(stops).toSorted(), ['web.app[0]', 'web.app[1]'])
  assert.deepEqual(placements, [])
})

// Stopped and purged jobs, groups that are gone.

test('schedule: a stopped job keeps nothing', () => {
  const job = { ...aJob({ groups: [aGroup({ Count: 2 })] }), Stop: true }
  const allocations = [
    ...count(job, 2),
    anAllocation({ job, index: 2, ClientStatus: 'complete' }),
    anAllocation({ job, index: 3, DesiredStatus: 'stop' }),
  ]
  const { stops, placements, annotations } = plan({ job, allocations })
  assert.deepEqual(names(stops), ['web.app[0]', 'web.app[1]'])
  assert.deepEqual(placements, [])
  assert.equal(annotations.DesiredTGUpdates['app']?.Stop, 2)
})

test('schedule: a purged job keeps nothing either, and what was on a dead node is lost', () => {
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

test('schedule: a group that the job no longer has ends', () => {
  const before = aJob({ groups: [aGroup({ Name: 'old' })] })
  const job = { ...aJob(), Version: 1 }
  const { stops, placements } = plan({
    job,
    versions: [before],
    allocations: [anAllocation({ job: before })],
  })
  assert.deepEqual(names(stops), ['web.old[0]'])
  assert.deepEqual(names(placements), ['web.app[0]'])
})

// Nodes that are lost, allocations that must move.

test('schedule: what a dead node had is lost and replaced under its name', () => {
  const job = aJob({ groups: [aGroup({ Count: 2 })] })
  const allocations = count(job, 2)
  const alive = aNode({ ID: anId('node', 2) })
  const { stops, placements } = plan({
    nodes: [aNode({ Status: 'down' }), alive],
    job,
    allocations,
  })
  assert.deepEqual(names(placements), ['web.app[0]', 'web.app[1]'])
  assert.deepEqual(
    stops.map(({ ClientStatus, DesiredStatus, NextAllocation }) => [
      ClientStatus,
      DesiredStatus,
      NextAllocation,
    ]),
    placements.map((row) => ['lost', 'stop', row.ID]),
  )
  assert.deepEqual(
    placements.map((row) => row.PreviousAllocation),
    allocations.map((row) => row.ID),
  )
  assert.ok(placements.every((row) => row.RescheduleTracker === undefined))
})

test('schedule: what a forgotten node had is lost', () => {
  const job = aJob()
  const allocations = [anAllocation({ job, NodeID: anId('node', 9) })]
  const { stops, placements } = plan({ job, allocations })
  assert.equal(stops[0]?.ClientStatus, 'lost')
  assert.equal(placements.length, 1)
})

test('schedule: a draining node keeps what nobody marked', () => {
  const job = aJob()
  const drained = aNode({
    SchedulingEligibility: 'ineligible',
    DrainStrategy: {
      Deadline: 0,
      IgnoreSystemJobs: false,
      ForceDeadline: ZERO_TIME,
      StartedAt: ZERO_TIME,
    },
  })
  const { stops, placements } = plan({ nodes: [drained], job, allocations: count(job, 1) })
  assert.deepEqual([stops, placements], [[], []])
})

test('schedule: a marked allocation moves to another node under its name', () => {
  const job = aJob()
  const allocations = [anAllocation({ job, DesiredTransition: { Migrate: true } })]
  const parts = {
    nodes: [aNode({ SchedulingEligibility: 'ineligible' }), aNode({ ID: anId('node', 2) })],
  }
  const { stops, placements, annotations } = plan({ ...parts, job, allocations })
  assert.equal(placements[0]?.NodeID, anId('node', 2))
  assert.equal(placements[0]?.PreviousAllocation, stops[0]?.ID)
  assert.equal(stops[0]?.NextAllocation, placements[0]?.ID)
  assert.equal(annotations.DesiredTGUpdates['app']?.Migrate, 1)
  assert.equal(annotations.DesiredTGUpdates['app']?.Stop, 0)
})

test('schedule: a marked allocation that shall not be replaced is stopped and keeps its place', () => {
  const job = aJob({ Type: 'batch' })
  const transition = { Migrate: true, MigrateDisablePlacement: true }
  const allocations = [anAllocation({ job, DesiredTransition: transition })]
  const first = plan({ nodes: 2, job, allocations })
  assert.deepEqual([first.stops.length, first.placements.length], [1, 0])
  const second = plan({ nodes: 2, job, allocations: first.stops })
  assert.deepEqual([second.stops.length, second.placements.length], [0, 0])
})

// What has ended.

const endings = [
  {
    name: 'finished work of a batch job is not done again',
    type: 'batch',
    client: 'complete',
    places: 0,
  },
  { name: 'a service that ended is started again', type: 'service', client: 'complete', places: 1 },
] as const
for (const { name, type, client, places } of endings)
  test(`schedule: ${name}`, () => {
    const job = aJob({ Type: type })
    const { placements } = plan({ job, allocations: [anAllocation({ job, ClientStatus: client })] })
    assert.equal(placements.length, places)
  })

test('schedule: a new version of a batch job runs again where the old one has finished', () => {
  const before = aJob({ Type: 'batch' })
  const job = { ...before, Priority: 60, Version: 1 }
  const allocations = [anAllocation({ job: before, ClientStatus: 'complete' })]
  assert.equal(plan({ job, versions: [before], allocations }).placements.length, 1)
})

test('schedule: finished work counts also when it was told to stop meanwhile', () => {
  const job = aJob({ Type: 'batch' })
  const places = (fields: Partial<AllocationRow>): number => {
    const row = anAllocation({ job, ClientStatus: 'complete', DesiredStatus: 'stop', ...fields })
    return plan({ job, allocations: [row] }).placements.length
  }
  const ended = { main: { State: 'dead' as const, Events: [{ Type: 'Terminated' }] } }
  const killed = { main: { State: 'dead' as const, Events: [{ Type: 'Killing' }] } }
  assert.equal(places({ TaskStates: ended }), 0)
  assert.equal(places({ TaskStates: killed }), 1, 'what was killed was not finished')
  assert.equal(places({}), 1, 'nor what never began')
  assert.equal(places({ TaskStates: ended, NextAllocation: anId('alloc', 9) }), 1)
})

function failed(job: Job, endedMs: number, fields: Partial<AllocationRow> = {}): AllocationRow {
  return anAllocation({
    job,
    ClientStatus: 'failed',
    TaskStates: { main: { State: 'dead', Failed: true, FinishedAt: isoFromMs(endedMs) } },
    ...fields,
  })
}

test('schedule: a failed service waits for its delay, in an evaluation of its own', () => {
  const job = aJob()
  const row = failed(job, NOW)
  const { placements, notes, followUps, evaluation } = plan({ job, allocations: [row] })
  assert.deepEqual(placements, [])
  const [follow] = followUps
  assert.ok(follow)
  assert.deepEqual([...Value.Errors(Evaluation, follow)], [])
  assert.equal(follow.WaitUntil, isoFromMs(NOW + 30_000))
  assert.equal(follow.TriggeredBy, 'alloc-reschedule')
  assert.equal(follow.PreviousEval, evaluation.ID)
  assert.equal(evaluation.NextEval, follow.ID)
  assert.deepEqual(
    notes.map((note) => [note.ID, note.FollowupEvalID]),
    [[row.ID, follow.ID]],
  )
})

test('schedule: one that waits already is not made to wait twice', () => {
  const job = aJob()
  const row = failed(job, NOW, { FollowupEvalID: anId('eval', 7) })
  const { placements, notes, followUps } = plan({ job, allocations: [row] })
  assert.deepEqual([placements, notes, followUps], [[], [], []])
})

test('schedule: those that are due together share an evaluation', () => {
  const job = aJob({ groups: [aGroup({ Count: 3 })] })
  const rows = [0, 4_000, 9_000].map((ms, index) =>
    failed(job, NOW + ms, { ID: anId('alloc', index + 1), Name: `web.app[${index}]` }),
  )
  const { followUps, notes } = plan({ job, allocations: rows })
  assert.deepEqual(
    followUps.map((follow) => [follow.WaitUntil, follow.TriggeredBy]),
    [
      [isoFromMs(NOW + 30_000), 'alloc-reschedule'],
      [isoFromMs(NOW + 39_000), 'alloc-failure'],
    ],
  )
  const [first, second] = followUps.map((follow) => follow.ID)
  assert.deepEqual(
    notes.map((note) => note.FollowupEvalID),
    [first, first, second],
  )
})

test('schedule: when its time has come it is placed elsewhere, and remembers', () => {
  const job = aJob()
  const row = failed(job, NOW - 30_000)
  const { placements, stops, annotations } = plan({ nodes: 2, job, allocations: [row] })
  const [placed] = placements
  assert.equal(placed?.NodeID, anId('node', 2), 'the node on which it failed is avoided')
  assert.deepEqual(placed?.RescheduleTracker, {
    Events: [
      {
        RescheduleTime: nsFromMs(NOW),
        PrevAllocID: row.ID,
        PrevNodeID: row.NodeID,
        Delay: nsFromMs(30_000),
      },
    ],
    LastReschedule: 'ok',
  })
  assert.deepEqual(
    stops.map((stop) => [stop.ID, stop.DesiredStatus, stop.ClientStatus, stop.NextAllocation]),
    [[row.ID, 'stop', 'failed', placed?.ID]],
  )
  assert.equal(annotations.DesiredTGUpdates['app']?.RescheduleNow, 1)
})

test('schedule: the node on which it failed is better than none', () => {
  const job = aJob()
  const { placements } = plan({ nodes: 1, job, allocations: [failed(job, NOW - 30_000)] })
  assert.equal(placements[0]?.NodeID, anId('node', 1))
  assert.equal(placements[0]?.Metrics.Best?.[0]?.[2]?.['node-reschedule-penalty'], -1)
})

test('schedule: one that cannot be placed again stays to be tried, and says so', () => {
  const job = aJob({ Constraints: [{ LTarget: '${node.class}', RTarget: 'none' }] })
  const row = failed(job, NOW - 30_000)
  const { stops, notes, blocked } = plan({ job, allocations: [row] })
  assert.deepEqual(stops, [])
  assert.equal(notes[0]?.RescheduleTracker?.LastReschedule, 'failed to place')
  assert.ok(blocked)
})

test('schedule: a batch job that used up its attempts keeps its failure and ends', () => {
  const job = aJob({ Type: 'batch' })
  const tracker = {
    Events: [{ RescheduleTime: nsFromMs(NOW - 60_000), PrevAllocID: '', PrevNodeID: '', Delay: 0 }],
    LastReschedule: 'ok',
  }
  const row = failed(job, NOW, { RescheduleTracker: tracker })
  const { placements, stops, notes, followUps } = plan({ job, allocations: [row] })
  assert.deepEqual([placements, stops, notes, followUps], [[], [], [], []])
})

// New versions.

function version(job: Job, number: number): Job {
  return { ...job, Version: number, CreateIndex: 1 }
}

test('schedule: a changed task replaces every allocation, each under its name', () => {
  const before = version(aJob({ groups: [aGroup({ Count: 2 })] }), 0)
  const tasks = [aTask({ Config: { command: '/bin/false' } })]
  const job = version(aJob({ groups: [aGroup({ Count: 2, Tasks: tasks })] }), 1)
  const allocations = count(before, 2)
  const { placements, stops, annotations } = plan({ job, versions: [before], allocations })
  assert.deepEqual(names(placements), ['web.app[0]', 'web.app[1]'])
  assert.deepEqual(names(stops), ['web.app[0]', 'web.app[1]'])
  assert.deepEqual(
    stops.map((row) => row.NextAllocation),
    placements.map((row) => row.ID),
  )
  assert.ok(placements.every((row) => row.JobVersion === 1))
  assert.equal(annotations.DesiredTGUpdates['app']?.DestructiveUpdate, 2)
})

test('schedule: a replacement may use the room of what it replaces', () => {
  const big = { Resources: { CPU: 3_000 } }
  const before = version(aJob({ groups: [aGroup({ Tasks: [aTask(big)] })] }), 0)
  const tasks = [aTask({ ...big, User: 'x' })]
  const job = version(aJob({ groups: [aGroup({ Tasks: tasks })] }), 1)
  const { placements, stops } = plan({ job, versions: [before], allocations: count(before, 1) })
  assert.deepEqual([placements.length, stops.length], [1, 1])
})

test('schedule: what cannot be replaced goes on running', () => {
  const before = version(aJob(), 0)
  const tasks = [aTask({ Resources: { CPU: 9_000 } })]
  const job = version(aJob({ groups: [aGroup({ Tasks: tasks })] }), 1)
  const { placements, stops, blocked, evaluation } = plan({
    job,
    versions: [before],
    allocations: count(before, 1),
  })
  assert.deepEqual([placements, stops], [[], []])
  assert.deepEqual(evaluation.QueuedAllocations, { app: 1 })
  assert.ok(blocked)
})

test('schedule: a changed service is taken over in place', () => {
  const before = version(aJob(), 0)
  const job = version(aJob({ groups: [aGroup({ Services: [{ Name: 's' }] })] }), 1)
  const allocations = count(before, 1)
  const { placements, stops, updates, evaluation } = plan({ job, versions: [before], allocations })
  assert.deepEqual([placements, stops], [[], []])
  assert.deepEqual(
    updates.map((row) => [row.ID, row.JobVersion, row.EvalID, row.Metrics]),
    [[allocations[0]?.ID, 1, evaluation.ID, allocations[0]?.Metrics]],
  )
})

test('schedule: a new constraint moves only what no longer meets it', () => {
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
  const { placements, stops, updates } = plan({
    nodes: racks,
    job,
    versions: [before],
    allocations,
  })
  assert.deepEqual(names(updates), ['web.app[1]'])
  assert.deepEqual(names(stops), ['web.app[0]'])
  assert.equal(placements[0]?.NodeID, anId('node', 2))
})

test('schedule: a job that left a datacenter leaves it', () => {
  const before = version(aJob(), 0)
  const job = version(aJob({ Datacenters: ['eu-*'] }), 1)
  const there = aNode({ ID: anId('node', 2), Datacenter: 'eu-1' })
  const allocations = count(before, 1)
  const { placements, stops } = plan({
    nodes: [aNode(), there],
    job,
    versions: [before],
    allocations,
  })
  assert.equal(stops.length, 1)
  assert.equal(placements[0]?.NodeID, there.ID)
})

test('schedule: after a purge an equal version number means nothing', () => {
  const job = { ...aJob(), CreateIndex: 50 }
  const allocations = [anAllocation({ job, CreateIndex: 10 })]
  const { placements, stops } = plan({ job, allocations })
  assert.deepEqual([placements.length, stops.length], [1, 1])
})

test('schedule: an allocation whose version is no longer kept is replaced', () => {
  const job = version(aJob(), 9)
  const allocations = [anAllocation({ job: version(aJob(), 1) })]
  const { placements, stops } = plan({ job, allocations })
  assert.deepEqual([placements.length, stops.length], [1, 1])
})

// Room that is missing.

test('schedule: what finds no room waits in a blocked evaluation', () => {
  const job = aJob({
    groups: [aGroup({ Count: 5, Tasks: [aTask({ Resources: { CPU: 1_500 } })] })],
  })
  const { placements, evaluation, blocked } = plan({ nodes: 2, job })
  assert.equal(placements.length, 4)
  assert.ok(blocked)
  assert.deepEqual([...Value.Errors(Evaluation, blocked)], [])
  assert.deepEqual([...Value.Errors(Evaluation, evaluation)], [])
  assert.equal(evaluation.Status, 'complete')
  assert.equal(evaluation.BlockedEval, blocked.ID)
  assert.deepEqual(evaluation.QueuedAllocations, { app: 1 })
  assert.equal(blocked.Status, 'blocked')
  assert.equal(blocked.TriggeredBy, 'queued-allocs')
  assert.equal(blocked.PreviousEval, evaluation.ID)
  assert.equal(blocked.SnapshotIndex, 1_000)
  assert.deepEqual(blocked.ClassEligibility, { 'v1:1': true })
  assert.equal(blocked.EscapedComputedClass, false)
})

test('schedule: the first failure of a group is explained, the others are counted', () => {
  const task = aTask({ Resources: { CPU: 5_000, MemoryMB: 400 } })
  const job = aJob({ groups: [aGroup({ Count: 3, Tasks: [task] })] })
  const { evaluation } = plan({ nodes: [...nodes(2, { NodeClass: 'small' })], job })
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

test('schedule: one group that finds no room does not hold up another', () => {
  const job = aJob({
    groups: [
      aGroup({ Name: 'big', Tasks: [aTask({ Resources: { MemoryMB: 99_999 } })] }),
      aGroup({ Name: 'small' }),
    ],
  })
  const { placements, evaluation } = plan({ job })
  assert.deepEqual(names(placements), ['web.small[0]'])
  assert.deepEqual(evaluation.QueuedAllocations, { big: 1, small: 0 })
})

test('schedule: a blocked evaluation that still finds no room stays the same record', () => {
  const job = aJob({ groups: [aGroup({ Tasks: [aTask({ Resources: { CPU: 9_000 } })] })] })
  const first = plan({ job }).blocked
  assert.ok(first)
  const again = schedule(aCluster({ job }), first, seeded(2))
  assert.equal(again.evaluation.ID, first.ID)
  assert.equal(again.evaluation.Status, 'blocked')
  assert.deepEqual(again.evaluation.ClassEligibility, { 'v1:1': true })
  assert.equal(again.blocked, undefined)
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

test('schedule: classes that cannot run the group are named, so that they wake nobody', () => {
  const rule = { LTarget: '${attr.kernel.name}', RTarget: 'windows' }
  const job = aJob({ Constraints: [rule] })
  const { blocked } = plan({ nodes: 2, job })
  assert.deepEqual(blocked?.ClassEligibility, { 'v1:1': false })
})

test('schedule: a constraint on what is unique to nodes makes classes say nothing', () => {
  const job = aJob({ Constraints: [{ LTarget: '${node.unique.name}', RTarget: 'other' }] })
  const { blocked } = plan({ nodes: 2, job })
  assert.equal(blocked?.EscapedComputedClass, true)
  assert.equal(blocked?.ClassEligibility, null)
})

// What is not for this scheduler.

test('schedule: a trigger that no job answers fails the evaluation', () => {
  const job = aJob()
  const { evaluation, placements } = plan({ job }, { TriggeredBy: 'scheduled' })
  assert.equal(evaluation.Status, 'failed')
  assert.match(evaluation.StatusDescription, /scheduled/)
  assert.deepEqual(placements, [])
})

test('schedule: the type of the job decides, not that of an evaluation made before it', () => {
  const job = aJob({ Type: 'batch' })
  const { placements } = plan(
    { job, allocations: [anAllocation({ job, ClientStatus: 'complete' })] },
    { Type: 'service', TriggeredBy: 'job-deregister' },
  )
  assert.deepEqual(placements, [])
})

test('schedule: a cluster without nodes blocks, it does not fail', () => {
  const job = aJob()
  const { evaluation, blocked } = plan({ nodes: [], job })
  assert.equal(evaluation.Status, 'complete')
  assert.equal(evaluation.FailedTGAllocs?.['app']?.NodesEvaluated, 0)
  assert.deepEqual(blocked?.ClassEligibility, {})
})
