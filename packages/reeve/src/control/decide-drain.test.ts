import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Input, Job, TaskGroup } from '@reeve/contract'
import fc from 'fast-check'
import { isoFromMs, nsFromMs, ZERO_TIME } from '@reeve/kit/duration.ts'
import { isTerminal, type AllocationRow, type NodeRow } from '../model/index.ts'
import { aGroup, aJob, anAllocation, anId, aNode, NOW_MS } from '../../test/build/index.ts'
import { decideDrain, type DrainView } from './decide-drain.ts'

const SECOND_NS = nsFromMs(1_000)

interface Cluster {
  readonly job?: Job
  readonly nodes?: readonly NodeRow[]
  readonly allocations: readonly AllocationRow[]
}

function draining(
  number = 1,
  deadlineMs = 0,
  fields: { IgnoreSystemJobs?: boolean } = {},
): NodeRow {
  const { SecretID: _secret, ...node } = aNode({
    ID: anId('node', number),
    Drain: true,
    SchedulingEligibility: 'ineligible',
    DrainStrategy: {
      Deadline: nsFromMs(deadlineMs),
      IgnoreSystemJobs: false,
      ForceDeadline: deadlineMs > 0 ? isoFromMs(NOW_MS + deadlineMs) : ZERO_TIME,
      StartedAt: isoFromMs(NOW_MS),
      ...fields,
    },
  })
  return { ...node, SecretHash: '' }
}

function view({ job = service(), nodes = [draining()], allocations }: Cluster): DrainView {
  return {
    drainingNodes: () => nodes,
    allocationsOn: (nodeId) => allocations.filter((row) => row.NodeID === nodeId),
    allocationsOf: (_namespace, id) => allocations.filter((row) => row.JobID === id),
    findJob: (_namespace, id) => (id === job.ID ? job : undefined),
  }
}

function service(count = 3, group: Input<TaskGroup> = {}): Job {
  return aJob({ groups: [aGroup({ Count: count, ...group })] })
}

const HEALTHY = {
  DeploymentStatus: { Healthy: true, Timestamp: '', Canary: false, ModifyIndex: 0 },
}

/** Healthy allocations on the nodes of these numbers. */
function on(nodes: readonly number[], job = service(), fields: Partial<AllocationRow> = {}) {
  return nodes.map((number, index) =>
    anAllocation({ job, index, NodeID: anId('node', number), ...HEALTHY, ...fields }),
  )
}

function marked(cluster: Cluster, nowMs = NOW_MS): readonly string[] {
  return decideDrain(view(cluster), nowMs).marks.map(({ row }) => row.Name)
}

function completed(cluster: Cluster, nowMs = NOW_MS) {
  return decideDrain(view(cluster), nowMs).completed.map((one) => [
    one.node.ID,
    one.deadlineReached,
  ])
}

// Services

const migrate = (MaxParallel: number) => ({ Migrate: { MaxParallel } })
const parallelCases = [
  { name: 'one at a time by default', count: 3, group: {}, healthy: 3, moves: 1 },
  { name: 'two where the block says so', count: 3, group: migrate(2), healthy: 3, moves: 2 },
  { name: 'none while one is not healthy', count: 3, group: {}, healthy: 2, moves: 0 },
  {
    name: 'one while one of two may be missing',
    count: 3,
    group: migrate(2),
    healthy: 2,
    moves: 1,
  },
  { name: 'all where as many may be missing', count: 2, group: migrate(5), healthy: 0, moves: 2 },
]
for (const { name, count, group, healthy, moves } of parallelCases)
  test(`drain: service migrates ${name}`, () => {
    const job = service(count, group)
    const allocations = on(
      Array.from({ length: count }, () => 1),
      job,
    ).map((row, i) =>
      i < healthy ? row : { ...row, DeploymentStatus: null, ClientStatus: 'pending' as const },
    )
    assert.equal(marked({ job, allocations }).length, moves)
  })

test('drain: counts healthy allocations elsewhere, not marked ones', () => {
  const job = service(3)
  const [a, b, c] = on([1, 2, 2], job)
  const leaving = { DesiredTransition: { Migrate: true } }
  const all = [a, b, c].filter((row) => row !== undefined)
  assert.deepEqual(marked({ job, allocations: all }), ['web.app[0]'])
  const told = all.map((row, i) => (i === 2 ? { ...row, ...leaving } : row))
  assert.deepEqual(marked({ job, allocations: told }), [])
})

test('drain: draining nodes share max_parallel of a group', () => {
  const job = service(2)
  const nodes = [draining(1), draining(2)]
  assert.deepEqual(marked({ job, nodes, allocations: on([1, 2], job) }), ['web.app[0]'])
})

test('drain: without a report, healthy after min_healthy_time', () => {
  const job = service(1, { Migrate: { MaxParallel: 1, MinHealthyTime: 10 * SECOND_NS } })
  const started = (ms: number) => ({
    DeploymentStatus: null,
    TaskStates: { main: { State: 'running' as const, StartedAt: isoFromMs(NOW_MS - ms) } },
  })
  const at = (ms: number): Cluster => ({ job, allocations: on([1], job, started(ms)) })
  assert.deepEqual(marked(at(10_000)), ['web.app[0]'])
  assert.deepEqual(marked(at(9_999)), [])
  assert.equal(decideDrain(view(at(9_000)), NOW_MS).nextCheckMs, NOW_MS + 1_000)
})

// Batch, system

for (const Type of ['batch', 'sysbatch'])
  test(`drain: ${Type} work runs until the deadline and is not restarted`, () => {
    const job = aJob({ Type })
    const cluster = { job, nodes: [draining(1, 60_000)], allocations: on([1], job) }
    const before = decideDrain(view(cluster), NOW_MS)
    assert.deepEqual([before.marks, before.completed], [[], []])
    assert.equal(before.nextCheckMs, NOW_MS + 60_000)
    const after = decideDrain(view(cluster), NOW_MS + 60_000)
    assert.deepEqual(
      after.marks.map((mark) => mark.disablePlacement),
      [true],
    )
    assert.equal(after.completed[0]?.deadlineReached, true)
  })

const system = aJob({ ID: 'agents', Type: 'system' })
const systemCases = [
  { name: 'wait for the others', others: 'running', ignore: false, marks: 0, complete: false },
  {
    name: 'leave when the others have',
    others: 'complete',
    ignore: false,
    marks: 1,
    complete: true,
  },
  {
    name: 'stay when they are ignored',
    others: 'complete',
    ignore: true,
    marks: 0,
    complete: true,
  },
] as const
for (const { name, others, ignore, marks, complete } of systemCases)
  test(`drain: system jobs ${name}`, () => {
    const job = aJob({ Type: 'batch' })
    const allocations = [
      ...on([1], job, { ClientStatus: others }),
      anAllocation({ job: system, index: 7 }),
    ]
    const nodes = [draining(1, 0, { IgnoreSystemJobs: ignore })]
    const decision = decideDrain(view({ job, nodes, allocations }), NOW_MS)
    assert.equal(decision.marks.length, marks)
    assert.equal(decision.completed.length > 0, complete)
  })

// Deadlines and ends

test('drain: negative deadline marks everything immediately', () => {
  const job = service(3)
  const allocations = [...on([1, 1, 1], job), anAllocation({ job: system, index: 7 })]
  const nodes = [draining(1, -1)]
  assert.equal(marked({ job, nodes, allocations }).length, 4)
  assert.deepEqual(completed({ job, nodes, allocations }), [[anId('node', 1), true]])
  const ignored = [draining(1, -1, { IgnoreSystemJobs: true })]
  assert.equal(marked({ job, nodes: ignored, allocations }).length, 3)
})

test('drain: deadlines that are close together are handled together', () => {
  const job = aJob({ Type: 'batch' })
  const nodes = [draining(1, 10_000), draining(2, 14_000), draining(3, 30_000)]
  const { nextCheckMs } = decideDrain(view({ job, nodes, allocations: on([1, 2, 3], job) }), NOW_MS)
  assert.equal(nextCheckMs, NOW_MS + 14_000)
})

test('drain: completes without allocations even after the deadline', () => {
  const nodes = [draining(1, 10_000)]
  assert.deepEqual(completed({ nodes, allocations: [] }), [[anId('node', 1), false]])
  assert.deepEqual(completed({ nodes, allocations: [] }, NOW_MS + 20_000), [
    [anId('node', 1), false],
  ])
})

test('drain: waits for stopping allocations', () => {
  const allocations = on([1], service(1), { DesiredStatus: 'stop' })
  assert.deepEqual(completed({ allocations }), [])
  assert.deepEqual(marked({ allocations }), [])
})

test('drain: continues beyond the limit with the next decision', () => {
  const job = aJob({ Type: 'batch', groups: [aGroup({ Count: 2_500 })] })
  const allocations = on(
    Array.from({ length: 2_500 }, () => 1),
    job,
  )
  const nodes = [draining(1, -1)]
  assert.equal(marked({ job, nodes, allocations }).length, 1_000)
  assert.deepEqual(completed({ job, nodes, allocations }), [])
})

// Properties

test('drain: never goes below count minus max_parallel', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 8 }),
      fc.integer({ min: 1, max: 4 }),
      fc.array(fc.tuple(fc.integer({ min: 1, max: 3 }), fc.boolean()), { maxLength: 12 }),
      (count, parallel, places) => {
        const job = service(count, migrate(parallel))
        const allocations = places.map(([number, healthy], index) =>
          anAllocation({
            job,
            index,
            NodeID: anId('node', number),
            ...(healthy ? HEALTHY : { ClientStatus: 'pending' }),
          }),
        )
        const cluster = { job, nodes: [draining(1), draining(2)], allocations }
        const leaving = new Set(marked(cluster))
        assert.deepEqual([...leaving], marked(cluster))
        const healthy = allocations.filter((row) => !isTerminal(row) && row.DeploymentStatus)
        const before = healthy.length
        const room = Math.max(0, before - (count - parallel))
        assert.ok(leaving.size <= room, `${leaving.size} leave, ${room} may`)
      },
    ),
  )
})
