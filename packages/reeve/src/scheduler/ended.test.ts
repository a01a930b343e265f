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
  NOW_MS,
  planFor,
  seeded,
} from '../../test/build/index.ts'
import { isoFromMs, nsFromMs, ZERO_TIME } from '@reeve/kit/duration.ts'
import { decodeTopScores, type AllocationRow } from '../model/index.ts'
import { schedule } from './schedule.ts'

function names(rows: readonly AllocationRow[]): readonly string[] {
  return rows.map((row) => row.Name)
}

function count(job: Job, running: number): readonly AllocationRow[] {
  return Array.from({ length: running }, (_, index) => anAllocation({ job, index }))
}

test('schedule: allocations of a down node are lost and replaced with their names', () => {
  const job = aJob({ groups: [aGroup({ Count: 2 })] })
  const allocations = count(job, 2)
  const alive = aNode({ ID: anId('node', 2) })
  const { stops, placements } = planFor({
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

test('schedule: allocations of a purged node are lost', () => {
  const job = aJob()
  const allocations = [anAllocation({ job, NodeID: anId('node', 9) })]
  const { stops, placements } = planFor({ job, allocations })
  assert.equal(stops[0]?.ClientStatus, 'lost')
  assert.equal(placements.length, 1)
})

test('schedule: draining node keeps unmarked allocations', () => {
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
  const { stops, placements } = planFor({ nodes: [drained], job, allocations: count(job, 1) })
  assert.deepEqual([stops, placements], [[], []])
})

test('schedule: marked allocation migrates to another node with its name', () => {
  const job = aJob()
  const allocations = [anAllocation({ job, DesiredTransition: { Migrate: true } })]
  const parts = {
    nodes: [aNode({ SchedulingEligibility: 'ineligible' }), aNode({ ID: anId('node', 2) })],
  }
  const { stops, placements, annotations } = planFor({ ...parts, job, allocations })
  assert.equal(placements[0]?.NodeID, anId('node', 2))
  assert.equal(placements[0]?.PreviousAllocation, stops[0]?.ID)
  assert.equal(stops[0]?.NextAllocation, placements[0]?.ID)
  assert.equal(annotations.DesiredTGUpdates['app']?.Migrate, 1)
  assert.equal(annotations.DesiredTGUpdates['app']?.Stop, 0)
})

test('schedule: marked allocation without replacement is stopped and still counts', () => {
  const job = aJob({ Type: 'batch' })
  const transition = { Migrate: true, MigrateDisablePlacement: true }
  const allocations = [anAllocation({ job, DesiredTransition: transition })]
  const first = planFor({ nodes: 2, job, allocations })
  assert.deepEqual([first.stops.length, first.placements.length], [1, 0])
  const second = planFor({ nodes: 2, job, allocations: first.stops })
  assert.deepEqual([second.stops.length, second.placements.length], [0, 0])
})

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
    const { placements } = planFor({
      job,
      allocations: [anAllocation({ job, ClientStatus: client })],
    })
    assert.equal(placements.length, places)
  })

test('schedule: new version of a completed batch job runs again', () => {
  const before = aJob({ Type: 'batch' })
  const job = { ...before, Priority: 60, Version: 1 }
  const allocations = [anAllocation({ job: before, ClientStatus: 'complete' })]
  assert.equal(planFor({ job, versions: [before], allocations }).placements.length, 1)
})

test('schedule: completed work counts even if it was stopped meanwhile', () => {
  const job = aJob({ Type: 'batch' })
  const places = (fields: Partial<AllocationRow>): number => {
    const row = anAllocation({ job, ClientStatus: 'complete', DesiredStatus: 'stop', ...fields })
    return planFor({ job, allocations: [row] }).placements.length
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

test('schedule: failed service waits for its delay in a follow-up evaluation', () => {
  const job = aJob()
  const row = failed(job, NOW_MS)
  const { placements, attributeUpdates, followUpEvaluations, evaluation } = planFor({
    job,
    allocations: [row],
  })
  assert.deepEqual(placements, [])
  const [follow] = followUpEvaluations
  assert.ok(follow)
  assert.deepEqual([...Value.Errors(Evaluation, follow)], [])
  assert.equal(follow.WaitUntil, isoFromMs(NOW_MS + 30_000))
  assert.equal(follow.TriggeredBy, 'alloc-reschedule')
  assert.equal(follow.PreviousEval, evaluation.ID)
  assert.equal(evaluation.NextEval, follow.ID)
  assert.deepEqual(
    attributeUpdates.map((note) => [note.ID, note.FollowupEvalID]),
    [[row.ID, follow.ID]],
  )
})

test('schedule: node clock that is ahead does not delay a replacement', () => {
  const job = aJob()
  const { followUpEvaluations } = planFor({ job, allocations: [failed(job, NOW_MS + 86_400_000)] })
  assert.deepEqual(
    followUpEvaluations.map((follow) => follow.WaitUntil),
    [isoFromMs(NOW_MS + 30_000)],
  )
})

test('schedule: allocation with a pending follow-up gets no second one', () => {
  const job = aJob()
  const row = failed(job, NOW_MS, { FollowupEvalID: anId('eval', 7) })
  const { placements, attributeUpdates, followUpEvaluations } = planFor({ job, allocations: [row] })
  assert.deepEqual([placements, attributeUpdates, followUpEvaluations], [[], [], []])
})

test('schedule: allocations due together share a follow-up', () => {
  const job = aJob({ groups: [aGroup({ Count: 3 })] })
  const rows = [9_000, 5_000, 0].map((ms, index) =>
    failed(job, NOW_MS - ms, { ID: anId('alloc', index + 1), Name: `web.app[${index}]` }),
  )
  const { followUpEvaluations, attributeUpdates } = planFor({ job, allocations: rows })
  assert.deepEqual(
    followUpEvaluations.map((follow) => [follow.WaitUntil, follow.TriggeredBy]),
    [
      [isoFromMs(NOW_MS + 21_000), 'alloc-reschedule'],
      [isoFromMs(NOW_MS + 30_000), 'alloc-failure'],
    ],
  )
  const [first, second] = followUpEvaluations.map((follow) => follow.ID)
  assert.deepEqual(
    attributeUpdates.map((note) => note.FollowupEvalID),
    [first, first, second],
  )
})

test('schedule: due allocation is placed elsewhere with its reschedule history', () => {
  const job = aJob()
  const row = failed(job, NOW_MS - 30_000)
  const { placements, stops, annotations } = planFor({ nodes: 2, job, allocations: [row] })
  const [placed] = placements
  assert.equal(placed?.NodeID, anId('node', 2), 'the node on which it failed is avoided')
  assert.deepEqual(placed?.RescheduleTracker, {
    Events: [
      {
        RescheduleTime: nsFromMs(NOW_MS),
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

test('schedule: node of the failure is used if no other fits', () => {
  const job = aJob()
  const { placements } = planFor({ nodes: 1, job, allocations: [failed(job, NOW_MS - 30_000)] })
  assert.equal(placements[0]?.NodeID, anId('node', 1))
  assert.equal(
    decodeTopScores(placements[0]?.Metrics ?? {})[0]?.[2]?.['node-reschedule-penalty'],
    -1,
  )
})

test('schedule: failed reschedule attempt is recorded and retried', () => {
  const job = aJob({ Constraints: [{ LTarget: '${node.class}', RTarget: 'none' }] })
  const row = failed(job, NOW_MS - 30_000)
  const { stops, attributeUpdates, blockedEvaluation } = planFor({ job, allocations: [row] })
  assert.deepEqual(stops, [])
  assert.equal(attributeUpdates[0]?.RescheduleTracker?.LastReschedule, 'failed to place')
  assert.ok(blockedEvaluation)
})

test('schedule: batch job without attempts left keeps its failure', () => {
  const job = aJob({ Type: 'batch' })
  const tracker = {
    Events: [
      { RescheduleTime: nsFromMs(NOW_MS - 60_000), PrevAllocID: '', PrevNodeID: '', Delay: 0 },
    ],
    LastReschedule: 'ok',
  }
  const row = failed(job, NOW_MS, { RescheduleTracker: tracker })
  const { placements, stops, attributeUpdates, followUpEvaluations } = planFor({
    job,
    allocations: [row],
  })
  assert.deepEqual([placements, stops, attributeUpdates, followUpEvaluations], [[], [], [], []])
})

test('schedule: allocation whose follow-up ended early gets another', () => {
  const job = aJob()
  const row = failed(job, NOW_MS, { FollowupEvalID: anId('eval', 7) })
  const plan = (over: readonly string[]) => planFor({ job, allocations: [row], over })
  assert.deepEqual([plan([]).attributeUpdates, plan([]).followUpEvaluations], [[], []])
  const { attributeUpdates, followUpEvaluations } = plan([anId('eval', 7)])
  assert.deepEqual(
    followUpEvaluations.map((follow) => [follow.ID, follow.WaitUntil]),
    [[attributeUpdates[0]?.FollowupEvalID, isoFromMs(NOW_MS + 30_000)]],
  )
})

test('schedule: follow-up completed by another evaluation is still honored', () => {
  const job = aJob()
  const follow = anId('eval', 7)
  const row = failed(job, NOW_MS - 27_000, { FollowupEvalID: follow })
  const plan = (settles: readonly string[]) =>
    schedule(aCluster({ nodes: 2, job, allocations: [row] }), anEvaluation(job), {
      ...seeded(1),
      coalescedEvaluations: settles.map((ID) => ({ ID, TriggeredBy: 'alloc-reschedule' })),
    })
  assert.equal(plan([]).placements.length, 0)
  assert.equal(plan([follow]).placements.length, 1)
})
