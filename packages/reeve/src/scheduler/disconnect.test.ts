import assert from 'node:assert/strict'
import test from 'node:test'
import type { DisconnectStrategy, Input, Job } from '@reeve/contract'
import { aGroup, aJob } from '../../test/build/index.ts'
import { World } from '../../test/build/world.ts'
import { isoFromMs, nsFromMs } from '@reeve/kit/duration.ts'
import type { AllocationRow } from '../model/index.ts'

const HOUR_MS = 3_600_000
const POLICY = { Delay: nsFromMs(30_000), DelayFunction: 'constant', Unlimited: true }

function service(disconnect: Input<DisconnectStrategy> = {}, fields: Input<Job> = {}): Job {
  const Disconnect = { LostAfter: nsFromMs(HOUR_MS), ...disconnect }
  return aJob({ ...fields, groups: [aGroup({ Count: 2, Disconnect, ReschedulePolicy: POLICY })] })
}

/** Two allocations run on their own nodes; a third node is free. */
function running(disconnect: Input<DisconnectStrategy> = {}, fields: Input<Job> = {}): World {
  const world = new World(3)
  world.register(service(disconnect, fields))
  world.obey()
  world.settle()
  return world
}

/** Disconnects the node of the first allocation. */
function silence(world: World, Status: 'disconnected' | 'down' = 'disconnected') {
  const [row] = world.live
  assert.ok(row)
  world.setNode(row.NodeID, { Status })
  return { id: row.ID, plan: world.evaluate({ TriggeredBy: 'node-update' }) }
}

/** Then the reschedule delay passes, and the allocation is replaced. */
function standIn(world: World) {
  const { id } = silence(world)
  world.nowMs += 30_000
  const { placements } = world.evaluate({ TriggeredBy: 'alloc-reschedule' })
  const [substitute] = placements
  assert.ok(substitute)
  world.health([substitute], true)
  return { id, substitute }
}

/** The node reconnects and reports the allocation. */
function comeBack(world: World, id: string, fields: Partial<AllocationRow> = {}) {
  const row = world.rows.get(id)
  world.setNode(row?.NodeID ?? '', { Status: 'ready' })
  world.report(row, { ClientStatus: 'running', ...fields })
  return world.evaluate({ TriggeredBy: 'reconnect' })
}

test('disconnect: allocation on a disconnected node becomes unknown, not stopped', () => {
  const world = running()
  const { id, plan } = silence(world)
  const row = world.rows.get(id)
  assert.deepEqual([plan.stops, plan.placements, plan.updates.map((one) => one.ID)], [[], [], [id]])
  assert.deepEqual([row?.ClientStatus, row?.DesiredStatus], ['unknown', 'run'])
  assert.deepEqual(
    [row?.DesiredDescription, row?.ClientDescription],
    ['allocation is unknown: its node is disconnected', 'Node is disconnected'],
  )
  assert.deepEqual(row?.AllocStates, [
    { Field: 'ClientStatus', Value: 'unknown', Time: isoFromMs(world.nowMs) },
  ])
  assert.equal(plan.annotations.DesiredTGUpdates['app']?.Disconnect, 1)
  assert.deepEqual(
    plan.followUpEvaluations.map((one) => [one.TriggeredBy, one.WaitUntil]),
    [
      ['max-disconnect-timeout', isoFromMs(world.nowMs + HOUR_MS)],
      ['alloc-reschedule', isoFromMs(world.nowMs + 30_000)],
    ],
  )
  assert.equal(row?.FollowupEvalID, plan.followUpEvaluations[0]?.ID)
  const again = world.evaluate()
  assert.deepEqual([again.updates, again.followUpEvaluations], [[], []], 'once is enough')
})

test('disconnect: is replaced after the reschedule delay', () => {
  const world = running()
  const { id, substitute } = standIn(world)
  assert.equal(substitute.PreviousAllocation, id)
  assert.equal(substitute.RescheduleTracker?.Events.length, 1)
  assert.equal(world.rows.get(id)?.NextAllocation, substitute.ID)
  assert.equal(world.rows.get(id)?.DesiredStatus, 'run')
  assert.equal(world.settle(), 0)
})

const setBacks = [
  { name: 'a little', backMs: 5_000 },
  { name: 'to before its node fell silent', backMs: 100_000 },
]
for (const { name, backMs } of setBacks)
  test(`disconnect: is replaced although the clock was set back ${name}`, () => {
    const world = running()
    const { id, plan } = silence(world)
    const dueMs = world.nowMs + 30_000
    const early = plan.followUpEvaluations.find((one) => one.WaitUntil === isoFromMs(dueMs))
    assert.ok(early)
    // Stored times are corrected when the clock is set.
    world.nowMs = dueMs - backMs
    const { placements, followUpEvaluations } = world.evaluate({ ...early, Status: 'pending' })
    assert.deepEqual(
      [placements, followUpEvaluations.map((one) => one.WaitUntil)],
      [[], [isoFromMs(dueMs)]],
    )
    assert.deepEqual(world.evaluate().followUpEvaluations, [], 'once is enough')
    world.nowMs = dueMs
    const { placements: later } = world.evaluate({ ID: followUpEvaluations[0]?.ID ?? '' })
    assert.deepEqual(
      later.map((row) => row.PreviousAllocation),
      [id],
    )
  })

test('disconnect: with replace = false keeps its name index', () => {
  const world = running({ Replace: false })
  silence(world)
  world.nowMs += 30_000
  assert.deepEqual(world.evaluate().placements, [])
})

test('disconnect: without lost_after, or before it ran, is lost immediately', () => {
  const none = running({ LostAfter: 0 })
  assert.equal(silence(none).plan.stops[0]?.ClientStatus, 'lost')
  const pending = running()
  pending.report(pending.live[0], { ClientStatus: 'pending' })
  const { plan } = silence(pending)
  assert.equal(plan.stops[0]?.ClientStatus, 'lost')
  assert.equal(plan.placements.length, 1)
})

test('disconnect: is lost after lost_after', () => {
  const world = running()
  const { id } = standIn(world)
  world.nowMs += HOUR_MS
  const { stops, placements } = world.evaluate({ TriggeredBy: 'max-disconnect-timeout' })
  assert.deepEqual(
    stops.map((row) => [row.ID, row.ClientStatus, row.DesiredStatus]),
    [[id, 'lost', 'stop']],
  )
  assert.deepEqual(placements, [], 'its substitute runs already')
})

test('disconnect: on a down node, replace = false keeps it unknown', () => {
  const world = running({ Replace: false, LostAfter: 0 })
  const { id, plan } = silence(world, 'down')
  assert.deepEqual([plan.stops, plan.placements, plan.followUpEvaluations], [[], [], []])
  assert.equal(world.rows.get(id)?.ClientStatus, 'unknown')
  assert.equal(world.settle(), 0)
})

test('disconnect: unknown allocation does not count as surplus', () => {
  const world = running({ Replace: false })
  const { id } = silence(world)
  const job = service({ Replace: false })
  world.register({ ...job, TaskGroups: job.TaskGroups.map((group) => ({ ...group, Count: 1 })) })
  assert.equal(world.rows.get(id)?.DesiredStatus, 'run')
  assert.equal(world.live.length, 2)
})

test('reconnect: nothing happens before the node reports the allocation', () => {
  const world = running()
  const { id } = standIn(world)
  world.setNode(world.rows.get(id)?.NodeID ?? '', { Status: 'ready' })
  const { stops, updates } = world.evaluate({ TriggeredBy: 'node-update' })
  assert.deepEqual([stops, updates], [[], []])
})

test('reconnect: without a replacement it continues', () => {
  const world = running()
  const { id } = silence(world)
  world.nowMs += 1_000
  const { stops, updates, annotations } = comeBack(world, id)
  assert.deepEqual(stops, [])
  assert.deepEqual(
    updates.map((row) => [row.ID, row.AllocStates?.at(-1)?.Value, row.FollowupEvalID]),
    [[id, 'running', undefined]],
  )
  assert.equal(annotations.DesiredTGUpdates['app']?.Reconnect, 1)
  assert.equal(world.settle(), 0)
})

const earlier = isoFromMs(1_000)
const later = isoFromMs(2_000)
const started = (StartedAt: string) => ({
  TaskStates: { main: { State: 'running' as const, StartedAt } },
})
const scored = (world: World, row: AllocationRow, score: number) =>
  world.report(row, { Metrics: { Best: [[row.NodeID, score]] } })
const choices: readonly {
  name: string
  reconcile: string
  winner: 'original' | 'substitute'
  prepare?: (world: World, original: AllocationRow, substitute: AllocationRow) => void
}[] = [
  { name: 'keep_original', reconcile: 'keep_original', winner: 'original' },
  { name: 'keep_replacement', reconcile: 'keep_replacement', winner: 'substitute' },
  { name: 'best_score leaves equals alone', reconcile: 'best_score', winner: 'original' },
  {
    name: 'best_score takes the better node',
    reconcile: 'best_score',
    winner: 'substitute',
    prepare(world, original, substitute) {
      scored(world, original, 0.2)
      scored(world, substitute, 0.8)
    },
  },
  {
    name: 'best_score never takes one that does not run',
    reconcile: 'best_score',
    winner: 'original',
    prepare(world, original, substitute) {
      scored(world, original, 0.2)
      scored(world, substitute, 0.8)
      world.report(substitute, { ClientStatus: 'pending' })
    },
  },
  {
    name: 'longest_running keeps the older one',
    reconcile: 'longest_running',
    winner: 'original',
    prepare(world, original, substitute) {
      world.report(original, started(earlier))
      world.report(substitute, started(later))
    },
  },
  {
    name: 'longest_running ends one that was started again',
    reconcile: 'longest_running',
    winner: 'substitute',
    prepare(world, original, substitute) {
      world.report(original, started(later))
      world.report(substitute, started(earlier))
    },
  },
]
for (const { name, reconcile, winner, prepare } of choices)
  test(`reconnect: ${name}`, () => {
    const world = running({ Reconcile: reconcile })
    const { id, substitute } = standIn(world)
    const original = world.rows.get(id)
    assert.ok(original)
    prepare?.(world, original, substitute)
    const { stops, placements } = comeBack(world, id)
    const loser = winner === 'original' ? substitute.ID : id
    assert.deepEqual([stops.map((row) => row.ID), placements], [[loser], []], `the ${winner} stays`)
    assert.equal(world.live.length, 2)
    assert.equal(world.settle(), 0)
  })

test('reconnect: allocation that failed meanwhile is stopped', () => {
  const world = running()
  const { id } = standIn(world)
  const { stops, placements } = comeBack(world, id, { ClientStatus: 'failed' })
  assert.deepEqual(
    [stops.map((row) => [row.ID, row.ClientStatus]), placements],
    [[[id, 'failed']], []],
  )
})

test('reconnect: allocation of an older version is stopped', () => {
  const world = running()
  const { id } = standIn(world)
  world.register({ ...service(), Priority: 70 })
  world.obey()
  const { stops } = comeBack(world, id)
  assert.ok(stops.some((row) => row.ID === id))
  assert.ok(world.live.every((row) => row.JobVersion === 1))
})

test('reconnect: allocation marked for migration is not kept', () => {
  const world = running()
  const { id } = standIn(world)
  const { stops } = comeBack(world, id, { DesiredTransition: { Migrate: true } })
  assert.deepEqual(
    stops.map((row) => row.ID),
    [id],
  )
})

test('reconnect: kept allocation can fail and be replaced later', () => {
  const world = running({ Reconcile: 'keep_original' })
  const { id } = standIn(world)
  comeBack(world, id)
  world.report(world.rows.get(id), { ClientStatus: 'failed' })
  world.nowMs += 60_000
  assert.equal(world.evaluate().placements[0]?.PreviousAllocation, id)
})

test('disconnect: system job becomes unknown and is not placed elsewhere', () => {
  const world = new World(2)
  const Disconnect = { LostAfter: nsFromMs(HOUR_MS) }
  world.register(aJob({ Type: 'system', groups: [aGroup({ Disconnect })] }))
  world.obey()
  world.settle()
  const { id, plan } = silence(world)
  assert.deepEqual([plan.stops, plan.placements], [[], []])
  assert.equal(world.rows.get(id)?.ClientStatus, 'unknown')
  assert.equal(plan.followUpEvaluations[0]?.TriggeredBy, 'max-disconnect-timeout')
  const back = comeBack(world, id)
  assert.equal(back.updates[0]?.AllocStates?.at(-1)?.Value, 'running')
  assert.equal(world.settle(), 0)
  const away = silence(world)
  world.nowMs += HOUR_MS
  const { evaluation, stops } = world.evaluate({ TriggeredBy: 'max-disconnect-timeout' })
  assert.equal(evaluation.Status, 'complete')
  assert.deepEqual(
    stops.map((row) => [row.ID, row.ClientStatus]),
    [[away.id, 'lost']],
  )
})
