import assert from 'node:assert/strict'
import test from 'node:test'
import {
  aCluster,
  aGroup,
  aJob,
  anAllocation,
  anEvaluation,
  aTask,
  nodes,
  seeded,
} from '../../test/build/index.ts'
import { World } from '../../test/build/world.ts'
import { isoFromMs } from '@reeve/kit/duration.ts'
import { schedule } from './schedule.ts'

test('trace E: blocked evaluation places the rest', () => {
  const group = aGroup({ Count: 2, Tasks: [aTask({ Resources: { CPU: 3_000 } })] })
  const world = new World([])
  const first = world.register(aJob({ groups: [group] }))
  const { blockedEvaluation } = first
  assert.ok(blockedEvaluation)
  assert.deepEqual(
    [first.evaluation.Status, first.evaluation.BlockedEval, first.evaluation.QueuedAllocations],
    ['complete', blockedEvaluation.ID, { app: 2 }],
  )
  world.nodes = nodes(1)
  const half = world.evaluate(blockedEvaluation)
  assert.deepEqual(
    [half.evaluation.Status, half.evaluation.QueuedAllocations, half.placements.length],
    ['blocked', { app: 1 }, 1],
  )
  world.nodes = nodes(2)
  const whole = world.evaluate(half.evaluation)
  assert.deepEqual(
    [whole.evaluation.Status, whole.evaluation.QueuedAllocations, whole.placements.length],
    ['complete', { app: 0 }, 1],
  )
})

test('trace G: completed batch work is done; a failure is retried once', () => {
  const world = new World(1)
  world.register(aJob({ Type: 'batch', groups: [aGroup({ Count: 2 })] }))
  const [good, bad] = world.live
  const failed = () => ({
    ClientStatus: 'failed' as const,
    TaskStates: { main: { State: 'dead' as const, FinishedAt: isoFromMs(world.nowMs) } },
  })
  world.report(good, { ClientStatus: 'complete' })
  world.report(bad, failed())
  const first = world.evaluate({ TriggeredBy: 'alloc-failure' })
  const [follow] = first.followUpEvaluations
  assert.deepEqual(
    [first.placements, follow?.TriggeredBy, follow?.WaitUntil],
    [[], 'alloc-reschedule', isoFromMs(world.nowMs + 5_000)],
  )
  world.nowMs += 5_000
  const { placements } = world.evaluate(follow)
  assert.deepEqual(
    placements.map((row) => [row.Name, row.PreviousAllocation]),
    [['web.app[1]', bad?.ID]],
  )
  world.report(placements[0], failed())
  world.nowMs += 60_000
  const last = world.evaluate({ TriggeredBy: 'alloc-failure' })
  assert.deepEqual([last.placements, last.followUpEvaluations], [[], []])
  assert.deepEqual(world.live, [])
})

test('trace H: re-registered job starts with new allocations', () => {
  const world = new World(2)
  const job = aJob({ groups: [aGroup({ Count: 2 })] })
  world.register(job)
  world.obey()
  world.settle()
  const before = new Set(world.live.map((row) => row.ID))
  assert.equal(world.register({ ...job, Stop: true }).stops.length, 2)
  world.obey()
  const again = world.register(job)
  assert.deepEqual(
    again.placements.map((row) => row.Name),
    ['web.app[0]', 'web.app[1]'],
  )
  assert.ok(again.placements.every((row) => !before.has(row.ID) && row.JobVersion === 2))
  assert.equal(again.deployment?.JobVersion, 2)
})

test('a stopped job leaves no allocations and no deployment', () => {
  const world = new World(1)
  world.register(aJob())
  const stopped = world.register({ ...aJob(), Stop: true })
  assert.deepEqual([stopped.stops.length, stopped.deploymentUpdates[0]?.Status], [1, 'cancelled'])
})

test('preemption: evicts victims and evaluates their jobs', () => {
  const big = [aTask({ Resources: { CPU: 3_000 } })]
  const small = aJob({ ID: 'small', Priority: 10, groups: [aGroup({ Tasks: big })] })
  const job = aJob({ Type: 'system', Priority: 90, groups: [aGroup({ Tasks: big })] })
  const victim = anAllocation({ job: small })
  const cluster = aCluster({ job, versions: [small], allocations: [victim] })
  const view = {
    ...cluster,
    findJob: (_namespace: string, id: string) => (id === small.ID ? small : job),
  }
  const plan = schedule(view, anEvaluation(job), seeded(1))
  const [winner] = plan.placements
  assert.deepEqual(winner?.PreemptedAllocations, [victim.ID])
  assert.deepEqual(
    plan.preemptions.map((row) => [row.ID, row.DesiredStatus, row.PreemptedByAllocation]),
    [[victim.ID, 'evict', winner?.ID]],
  )
  assert.deepEqual(
    plan.followUpEvaluations.map((one) => [one.JobID, one.TriggeredBy, one.Priority]),
    [['small', 'preemption', 10]],
  )
  assert.equal(plan.evaluation.NextEval, '')
  assert.equal(plan.annotations.DesiredTGUpdates['app']?.Preemptions, 1)
  assert.deepEqual(
    plan.annotations.PreemptedAllocs?.map((row) => row.ID),
    [victim.ID],
  )
})
