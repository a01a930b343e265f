import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import type { Input, Job } from '@reeve/contract'
import {
  aCluster,
  aGroup,
  aJob,
  anAllocation,
  anEvaluation,
  aTask,
  nodes,
  planFor,
  seeded,
} from '../../test/build/index.ts'
import { World } from '../../test/build/world.ts'
import { schedule } from './schedule.ts'

/** A node of the builders has 4,000 MHz. */
function groupOf(name: string, count: number, cpu: number) {
  const Tasks = [aTask({ Resources: { CPU: cpu, MemoryMB: 10 } })]
  return aGroup({ Name: name, Count: count, Tasks })
}

function jobOf(fields: Input<Job>): Job {
  return aJob({ AllAtOnce: true, ...fields })
}

const cases = [
  {
    name: 'everything comes when there is room for everything',
    groups: [groupOf('a', 2, 1_000), groupOf('b', 1, 1_000)],
    placed: 3,
    failed: [],
    queued: { a: 0, b: 0 },
  },
  {
    name: 'a group with room for all but one gets none',
    groups: [groupOf('a', 5, 1_000)],
    placed: 0,
    failed: ['a'],
    queued: { a: 5 },
  },
  {
    name: 'a group that would fit waits for the one that does not, and did not fail itself',
    groups: [groupOf('a', 2, 1_000), groupOf('b', 2, 3_000)],
    placed: 0,
    failed: ['b'],
    queued: { a: 2, b: 2 },
  },
]
for (const c of cases)
  test(`all at once: ${c.name}`, () => {
    const plan = planFor({ job: jobOf({ TaskGroups: c.groups }), nodes: 1 })
    assert.equal(plan.placements.length, c.placed)
    assert.deepEqual(Object.keys(plan.evaluation.FailedTGAllocs ?? {}), c.failed)
    assert.deepEqual(plan.evaluation.QueuedAllocations, c.queued)
    assert.equal(plan.blockedEvaluation !== undefined, c.failed.length > 0)
  })

test('all at once: places all requested allocations or none', () => {
  const some = fc.record({
    count: fc.integer({ min: 0, max: 4 }),
    cpu: fc.integer({ min: 500, max: 4_500 }),
  })
  fc.assert(
    fc.property(
      fc.array(some, { minLength: 1, maxLength: 3 }),
      fc.integer({ min: 1, max: 4 }),
      (asked, nodeCount) => {
        const groups = asked.map(({ count, cpu }, i) => groupOf(`g${i}`, count, cpu))
        const plan = planFor({ job: jobOf({ TaskGroups: groups }), nodes: nodeCount })
        const wanted = asked.reduce((sum, { count }) => sum + count, 0)
        const queued = Object.values(plan.evaluation.QueuedAllocations ?? {})
        const waiting = queued.reduce((sum, count) => sum + count, 0)
        assert.ok(plan.placements.length === 0 || plan.placements.length === wanted)
        assert.equal(plan.placements.length + waiting, wanted)
        // Placed all at once if and only if each allocation can be placed.
        const free = planFor({
          job: jobOf({ AllAtOnce: false, TaskGroups: groups }),
          nodes: nodeCount,
        })
        assert.equal(plan.placements.length === wanted, free.placements.length === wanted)
      },
    ),
    { numRuns: 60 },
  )
})

test('all at once: when false, places what fits', () => {
  const job = jobOf({ AllAtOnce: false, TaskGroups: [groupOf('a', 5, 1_000)] })
  assert.equal(planFor({ job, nodes: 1 }).placements.length, 4)
})

test('all at once: metrics describe the first failed placement', () => {
  const plan = planFor({ job: jobOf({ TaskGroups: [groupOf('a', 6, 1_000)] }), nodes: 1 })
  const metrics = plan.evaluation.FailedTGAllocs?.['a']
  assert.deepEqual(
    [metrics?.NodesExhausted, metrics?.DimensionExhausted, metrics?.CoalescedFailures],
    [1, { cpu: 1 }, 1],
  )
})

test('all at once: keeps running allocations while not all replacements fit', () => {
  const world = new World(1)
  world.register(jobOf({ TaskGroups: [groupOf('a', 2, 1_000)] }))
  world.obey()
  const before = world.live.map((row) => row.ID)
  const plan = world.register(jobOf({ TaskGroups: [groupOf('a', 2, 1_500), groupOf('b', 3, 900)] }))
  assert.deepEqual([plan.placements, plan.stops], [[], []])
  assert.deepEqual(
    world.live.map((row) => row.ID),
    before,
  )
  // With max_parallel 1, the other allocation keeps running.
  assert.deepEqual(plan.evaluation.QueuedAllocations, { a: 1, b: 3 })
})

test('all at once: blocked evaluation places everything when capacity is available', () => {
  const world = new World(1)
  const first = world.register(jobOf({ TaskGroups: [groupOf('a', 6, 1_000)] }))
  assert.ok(first.blockedEvaluation)
  world.nodes = nodes(2)
  const plan = world.evaluate(first.blockedEvaluation)
  assert.deepEqual(
    [plan.placements.length, plan.evaluation.Status, plan.evaluation.QueuedAllocations],
    [6, 'complete', { a: 0 }],
  )
})

test('all at once: preempts nothing for a job that does not fit completely', () => {
  const weak = aJob({ ID: 'weak', Priority: 10, TaskGroups: [groupOf('a', 1, 3_000)] })
  const row = anAllocation({ job: weak })
  const job = jobOf({ Priority: 90, TaskGroups: [groupOf('a', 2, 3_000)] })
  const preemption = {
    SystemSchedulerEnabled: true,
    SysBatchSchedulerEnabled: true,
    BatchSchedulerEnabled: true,
    ServiceSchedulerEnabled: true,
  }
  const view = aCluster({ job, versions: [weak], allocations: [row], settings: { preemption } })
  const plan = schedule(view, anEvaluation(job), seeded(1))
  assert.deepEqual(
    [plan.placements, plan.preemptions, plan.annotations.PreemptedAllocs],
    [[], [], null],
  )
})

test('all at once: keeps failed allocations, marked, while replacements wait', () => {
  const world = new World(1)
  const groups = ['a', 'b'].map((name) => groupOf(name, 1, 1_000))
  world.register(jobOf({ Type: 'batch', TaskGroups: groups }))
  world.obey()
  const failed = world.live
  for (const row of failed) world.report(row, { ClientStatus: 'failed' })
  world.nowMs += 60_000
  world.nodes = world.nodes.map((node) => ({
    ...node,
    NodeResources: { ...node.NodeResources, Cpu: { ...node.NodeResources.Cpu, CpuShares: 1_500 } },
  }))
  const plan = world.evaluate({ TriggeredBy: 'alloc-failure' })
  assert.deepEqual([plan.placements, plan.stops], [[], []])
  assert.deepEqual(
    plan.attributeUpdates.map((row) => [row.ID, row.RescheduleTracker?.LastReschedule]),
    failed.map((row) => [row.ID, 'failed to place']),
  )
})
