import assert from 'node:assert/strict'
import test from 'node:test'
import type { Input, Job, PreemptionConfig, TaskGroup } from '@reeve/contract'
import fc from 'fast-check'
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
} from '../../../test/build/index.ts'
import { expandMetrics, type AllocationRow } from '../../model/index.ts'
import { Placer } from '../placer.ts'
import { ProposedState } from '../proposed-state.ts'
import type { ClusterView } from '../cluster-view.ts'
import { canPreempt } from './preemptor.ts'

const ALLOWED: PreemptionConfig = {
  SystemSchedulerEnabled: true,
  SysBatchSchedulerEnabled: true,
  BatchSchedulerEnabled: true,
  ServiceSchedulerEnabled: true,
}

interface Running {
  readonly name: string
  readonly priority: number
  readonly cpu?: number
  readonly memory?: number
  readonly node?: number
  readonly fields?: Partial<AllocationRow>
  readonly group?: Input<TaskGroup>
}

/** Running allocations and a new job; the expected victims. */
function displaced(
  running: readonly Running[],
  wanted: {
    readonly cpu?: number
    readonly memory?: number
    readonly priority?: number
    readonly type?: string
    readonly group?: Input<TaskGroup>
    readonly preemption?: PreemptionConfig
    readonly nodeCount?: number
    readonly count?: number
  },
) {
  const others = running.map(({ name, priority, cpu = 1_000, memory = 500, group }) =>
    aJob({
      ID: name,
      Priority: priority,
      groups: [aGroup({ Tasks: [aTask({ Resources: { CPU: cpu, MemoryMB: memory } })], ...group })],
    }),
  )
  const allocations = running.map(({ node = 1, fields }, i) => {
    const job = others[i]
    assert.ok(job)
    return anAllocation({ job, ID: anId('alloc', i + 1), NodeID: anId('node', node), ...fields })
  })
  const { cpu = 1_000, memory = 500, priority = 80, type = 'service', count = 1 } = wanted
  const resources = { CPU: cpu, MemoryMB: memory }
  const job = aJob({
    ID: 'urgent',
    Type: type,
    Priority: priority,
    groups: [aGroup({ Count: count, Tasks: [aTask({ Resources: resources })], ...wanted.group })],
  })
  const view = aCluster({
    job,
    versions: others,
    allocations,
    nodes: nodes(wanted.nodeCount ?? 1),
    settings: { preemption: wanted.preemption ?? ALLOWED },
  })
  return place(view, job)
}

function place(view: ClusterView, job: Job) {
  const proposed = new ProposedState(view, [])
  const placer = new Placer({
    view,
    job,
    evaluation: anEvaluation(job),
    context: seeded(1),
    proposed,
  })
  const [group] = job.TaskGroups
  assert.ok(group)
  return Array.from({ length: group.Count }, (_, index) => {
    const placed = placer.place({ group, index })
    const names = placed.ok ? placed.preempted?.map((row) => row.JobID) : 'none'
    if (placed.ok && placed.preempted !== undefined)
      assert.deepEqual(
        placed.row.PreemptedAllocations,
        placed.preempted.map((row) => row.ID),
      )
    return { placed, names }
  })
}

/** Fills a node of 4,000 MHz. */
const full = (priority: number): readonly Running[] =>
  ['a', 'b', 'c', 'd'].map((name) => ({ name, priority }))

const cases: readonly {
  readonly name: string
  readonly running: readonly Running[]
  readonly wanted?: Parameters<typeof displaced>[1]
  readonly want: readonly string[] | undefined | 'none'
}[] = [
  { name: 'nobody while there is room', running: [{ name: 'a', priority: 1 }], want: undefined },
  { name: 'nobody who is as important', running: full(80), want: 'none' },
  { name: 'nobody who is nearly as important', running: full(71), want: 'none' },
  { name: 'one who is ten less important', running: full(70), want: ['a'] },
  {
    name: 'nobody when the settings forbid it',
    running: full(10),
    wanted: { preemption: { ...ALLOWED, ServiceSchedulerEnabled: false } },
    want: 'none',
  },
  {
    name: 'the least important first',
    running: [
      { name: 'a', priority: 50 },
      { name: 'b', priority: 20, cpu: 2_000 },
      { name: 'c', priority: 50 },
    ],
    want: ['b'],
  },
  {
    name: 'of equals the one whose room is closest to what is missing',
    running: [
      { name: 'a', priority: 20, cpu: 2_500 },
      { name: 'b', priority: 20, cpu: 1_000 },
      { name: 'c', priority: 20, cpu: 400 },
    ],
    wanted: { cpu: 1_100 },
    want: ['b'],
  },
  {
    name: 'as many as it takes',
    running: full(20),
    wanted: { cpu: 2_500 },
    want: ['a', 'b', 'c'],
  },
  {
    name: 'nobody who turns out not to be needed',
    running: [
      { name: 'a', priority: 10, cpu: 500 },
      { name: 'b', priority: 40, cpu: 3_500 },
    ],
    wanted: { cpu: 3_000 },
    want: ['b'],
  },
  {
    name: 'nobody when all of them together are not enough',
    running: full(20),
    wanted: { memory: 8_193 },
    want: 'none',
  },
  {
    name: 'nobody who is leaving already',
    running: full(20).map((one) => ({ ...one, fields: { DesiredStatus: 'stop' as const } })),
    want: 'none',
  },
  {
    name: 'nobody when the rules refuse the node',
    running: full(20),
    wanted: { group: { Constraints: [{ LTarget: '${meta.x}', Operand: 'is_set' }] } },
    want: 'none',
  },
]
for (const { name, running, wanted = {}, want } of cases)
  test(`preemption: preempts ${name}`, () => {
    assert.deepEqual(displaced(running, wanted)[0]?.names, want)
  })

const types = [
  ['service', 'ServiceSchedulerEnabled'],
  ['batch', 'BatchSchedulerEnabled'],
  ['system', 'SystemSchedulerEnabled'],
  ['sysbatch', 'SysBatchSchedulerEnabled'],
] as const
for (const [type, key] of types)
  test(`preemption: ${key} applies to ${type} jobs`, () => {
    const none = Object.fromEntries(Object.keys(ALLOWED).map((name) => [name, false]))
    // All settings disabled.
    const off = none as PreemptionConfig
    const ask = (preemption: PreemptionConfig) =>
      displaced(full(20), { type, preemption })[0]?.names
    assert.deepEqual(ask({ ...off, [key]: true }), ['a'])
    assert.equal(ask(off), 'none')
  })

test('preemption: only system jobs preempt by default', () => {
  const settings = { algorithm: 'binpack', memoryOversubscription: false } as const
  const allowed = types.map(([type]) => canPreempt(aJob({ Type: type }), settings))
  assert.deepEqual(allowed, [false, false, true, false])
})

function holding(port: number, priority: number): readonly Running[] {
  const plain = anAllocation().AllocatedResources
  const ports = [{ Label: 'p', Value: port, To: 0, HostIP: '10.0.0.1' }]
  const resources = { ...plain, Shared: { ...plain.Shared, Ports: ports } }
  return [{ name: 'a', priority, fields: { AllocatedResources: resources } }]
}

test('preemption: holder of a static port is preempted if allowed', () => {
  const group = { Networks: [{ ReservedPorts: [{ Label: 'p', Value: 80 }] }] }
  assert.deepEqual(displaced(holding(80, 20), { group })[0]?.names, ['a'])
  assert.equal(displaced(holding(80, 75), { group })[0]?.names, 'none')
  assert.equal(displaced(holding(81, 20), { group })[0]?.names, undefined)
})

test('preemption: respects max_parallel of migrate', () => {
  const migrate = { Count: 2, Migrate: { MaxParallel: 1 } }
  const running: readonly Running[] = [
    { name: 'a', priority: 20, group: migrate, cpu: 1_000 },
    { name: 'b', priority: 20, cpu: 1_000 },
  ]
  const twice = displaced(
    [
      ...running,
      { name: 'a', priority: 20, group: migrate, node: 2 },
      { name: 'b', priority: 20, node: 2 },
    ],
    { cpu: 3_000, nodeCount: 2, count: 2 },
  )
  assert.deepEqual(
    twice.map(({ names }) => names),
    [['a'], ['b']],
  )
})

test('preemption: a victim is used once, with its resources', () => {
  const chosen = displaced(full(20), { count: 5 })
  assert.deepEqual(
    chosen.map(({ names }) => names),
    [['a'], ['b'], ['c'], ['d'], 'none'],
  )
})

test('preemption: chooses the node with the least important victims, with scores', () => {
  const running = [
    ...full(60),
    ...full(20).map((one) => ({ ...one, name: `${one.name}2`, node: 2 })),
  ]
  const [first] = displaced(running, { nodeCount: 2 })
  assert.ok(first?.placed.ok)
  assert.equal(first.placed.row.NodeID, anId('node', 2))
  const { ScoreMetaData } = expandMetrics(first.placed.row.Metrics)
  const [best, second] = ScoreMetaData ?? []
  assert.equal(best?.NodeID, anId('node', 2))
  assert.ok((best?.Scores['preemption'] ?? 0) > (second?.Scores['preemption'] ?? 1))
})

test('preemption: frees devices of the lowest priorities', () => {
  const device = (name: string) => ({
    Vendor: 'acme',
    Type: 'gpu',
    Name: name,
    Instances: [{ ID: '1', Healthy: true, HealthDescription: '' }],
    Attributes: null,
  })
  const plain = aNode()
  const node = aNode({
    NodeResources: { ...plain.NodeResources, Devices: [device('x'), device('y')] },
  })
  const held = (name: string, model: string, priority: number) => {
    const job = aJob({ ID: name, Priority: priority })
    const row = anAllocation({ job, ID: anId('alloc', priority) })
    const main = row.AllocatedResources.Tasks['main']
    assert.ok(main)
    const Devices = [{ Vendor: 'acme', Type: 'gpu', Name: model, DeviceIDs: ['1'] }]
    const Tasks = { main: { ...main, Devices } }
    return { job, row: { ...row, AllocatedResources: { ...row.AllocatedResources, Tasks } } }
  }
  const both = [held('a', 'x', 60), held('b', 'y', 30)]
  const job = aJob({
    ID: 'urgent',
    Priority: 80,
    groups: [aGroup({ Tasks: [aTask({ Resources: { Devices: [{ Name: 'gpu' }] } })] })],
  })
  const view = aCluster({
    job,
    nodes: [node],
    versions: both.map((one) => one.job),
    allocations: both.map((one) => one.row),
    settings: { preemption: ALLOWED },
  })
  const [first] = place(view, job)
  assert.deepEqual(first?.names, ['b'])
  assert.ok(first?.placed.ok)
  const given = first.placed.row.AllocatedResources.Tasks['main']?.Devices
  assert.deepEqual(
    given?.map(({ Name }) => Name),
    ['y'],
  )
})

test('preemption: frees cores of their holders', () => {
  const job = aJob({ ID: 'low', Priority: 20 })
  const row = anAllocation({ job })
  const main = row.AllocatedResources.Tasks['main']
  assert.ok(main)
  const Cpu = { CpuShares: 3_000, ReservedCores: [0, 1, 2] }
  const holder = {
    ...row,
    AllocatedResources: { ...row.AllocatedResources, Tasks: { main: { ...main, Cpu } } },
  }
  const urgent = aJob({
    ID: 'urgent',
    Priority: 80,
    groups: [aGroup({ Tasks: [aTask({ Resources: { Cores: 2 } })] })],
  })
  const view = aCluster({
    job: urgent,
    versions: [job],
    allocations: [holder],
    settings: { preemption: ALLOWED },
  })
  assert.deepEqual(place(view, urgent)[0]?.names, ['low'])
})

const runningFields = fc.record({
  priority: fc.integer({ min: 1, max: 100 }),
  cpu: fc.integer({ min: 100, max: 2_500 }),
  memory: fc.integer({ min: 100, max: 5_000 }),
  node: fc.integer({ min: 1, max: 3 }),
})

test('property: preemption never overcommits and respects priorities', () => {
  fc.assert(
    fc.property(
      fc.array(runningFields, { maxLength: 12 }),
      fc.record({
        cpu: fc.integer({ min: 100, max: 4_000 }),
        memory: fc.integer({ min: 100, max: 8_000 }),
        priority: fc.integer({ min: 1, max: 100 }),
      }),
      (fields, wanted) => {
        const used = new Map<number, { cpu: number; memory: number }>()
        // Only allocations that fit are running.
        const running = fields.flatMap((one, i): readonly Running[] => {
          const on = used.get(one.node) ?? { cpu: 0, memory: 0 }
          const next = { cpu: on.cpu + one.cpu, memory: on.memory + one.memory }
          if (next.cpu > 4_000 || next.memory > 8_192) return []
          used.set(one.node, next)
          return [{ name: `job-${i}`, ...one }]
        })
        const byName = new Map(running.map((one) => [one.name, one]))
        for (const { placed } of displaced(running, { ...wanted, nodeCount: 3, count: 3 })) {
          if (!placed.ok) continue
          const at = Number.parseInt(placed.row.NodeID.slice(-4), 16)
          const on = used.get(at) ?? { cpu: 0, memory: 0 }
          on.cpu += wanted.cpu
          on.memory += wanted.memory
          for (const { JobID } of placed.preempted ?? []) {
            const victim = byName.get(JobID)
            assert.ok(victim, 'nobody goes twice')
            byName.delete(JobID)
            assert.ok(victim.priority <= wanted.priority - 10)
            assert.equal(victim.node, at)
            on.cpu -= victim.cpu ?? 0
            on.memory -= victim.memory ?? 0
          }
          used.set(at, on)
          assert.ok(on.cpu <= 4_000 && on.memory <= 8_192)
        }
      },
    ),
    { numRuns: 150, seed: 9 },
  )
})
