import assert from 'node:assert/strict'
import test from 'node:test'
import {
  Explanation,
  type ChangeStep,
  type GroupExplanation,
  type Input,
  type Job,
  type Node,
  type TaskGroup,
} from '@reeve/contract'
import fc from 'fast-check'
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
  planFor,
  seeded,
} from '../../../test/build/index.ts'
import type { AllocationRow } from '../../model/index.ts'
import { explainGroup, type ExplainOptions, toExplanation } from './explain-group.ts'

interface Parts {
  readonly job: Job
  readonly nodes: readonly Node[]
  readonly allocations?: readonly AllocationRow[]
}

function optionsFor({ job, nodes: all, allocations = [] }: Parts): ExplainOptions {
  return {
    view: aCluster({ job, nodes: all, allocations }),
    job,
    nodes: all,
    evaluation: anEvaluation(job),
    context: seeded(1),
  }
}

function explain(parts: Parts, more: Partial<ExplainOptions> = {}): GroupExplanation {
  const [group] = parts.job.TaskGroups
  assert.ok(group)
  return explainGroup(group, { ...optionsFor(parts), ...more })
}

function explainJob(options: ExplainOptions & { readonly index: number }): Explanation {
  const groups = options.job.TaskGroups.map((group) => explainGroup(group, options))
  return toExplanation(groups, options)
}

function jobOf(group: Input<TaskGroup>, job: Input<Job> = {}): Job {
  return aJob({ ...job, groups: [aGroup(group)] })
}

function asking(resources: { readonly CPU?: number; readonly MemoryMB?: number }) {
  return { Tasks: [aTask({ Resources: resources })] }
}

const PREEMPTION = {
  SystemSchedulerEnabled: true,
  SysBatchSchedulerEnabled: false,
  BatchSchedulerEnabled: false,
  ServiceSchedulerEnabled: false,
}

const keeping = aNode({
  ReservedResources: { ...aNode().ReservedResources, Memory: { MemoryMB: 4_096 } },
})

const reasons: readonly {
  readonly name: string
  readonly job: Job
  readonly node: Node
  readonly rule: string
  readonly found?: string
  readonly missing?: number
}[] = [
  {
    name: 'a node that is down',
    job: aJob(),
    node: aNode({ Status: 'down' }),
    rule: 'node-status',
    found: 'down',
  },
  {
    name: 'an ineligible node',
    job: aJob(),
    node: aNode({ SchedulingEligibility: 'ineligible' }),
    rule: 'node-eligibility',
    found: 'ineligible',
  },
  {
    name: 'another datacenter',
    job: aJob({ Datacenters: ['dc2'] }),
    node: aNode(),
    rule: 'datacenter',
    found: 'dc1',
  },
  {
    name: 'another pool',
    job: aJob({ NodePool: 'gpu' }),
    node: aNode(),
    rule: 'node-pool',
    found: 'default',
  },
  { name: 'a missing driver', job: aJob(), node: aNode({ Drivers: {} }), rule: 'driver' },
  {
    name: 'a constraint',
    job: aJob({ Constraints: [{ LTarget: '${attr.kernel.name}', RTarget: 'plan9' }] }),
    node: aNode(),
    rule: 'constraint',
    found: 'linux',
  },
  {
    name: 'missing devices',
    job: jobOf({ Tasks: [aTask({ Resources: { Devices: [{ Name: 'gpu' }] } })] }),
    node: aNode(),
    rule: 'device',
  },
  {
    name: 'a missing network',
    job: jobOf({ Networks: [{ Mode: 'bridge' }] }),
    node: aNode(),
    rule: 'network',
  },
  {
    name: 'a missing volume',
    job: jobOf({ Volumes: { v: { Type: 'host', Source: 'data' } } }),
    node: aNode(),
    rule: 'volume',
  },
  {
    name: 'too little processor',
    job: jobOf(asking({ CPU: 5_000 })),
    node: aNode(),
    rule: 'cpu',
    missing: 1_000,
  },
  {
    name: 'too little memory, beside what the node keeps',
    job: jobOf(asking({ MemoryMB: 5_000 })),
    node: keeping,
    rule: 'memory',
    missing: 904,
  },
  {
    name: 'too little disk',
    job: jobOf({ EphemeralDisk: { SizeMB: 100_300 } }),
    node: aNode(),
    rule: 'disk',
    missing: 300,
  },
  {
    name: 'too few cores',
    job: jobOf({ Tasks: [aTask({ Resources: { Cores: 5 } })] }),
    node: aNode({
      NodeResources: {
        ...aNode().NodeResources,
        Cpu: { CpuShares: 9_000, TotalCpuCores: 9, ReservableCpuCores: [0, 1, 2] },
      },
    }),
    rule: 'cores',
    missing: 2,
  },
]
for (const { name, job, node, rule, found = '', missing } of reasons)
  test(`explain: reports ${name} as reason`, () => {
    const { Refusals, Instances, NodesConsidered, Unplaced } = explain({ job, nodes: [node] })
    assert.deepEqual([NodesConsidered, Unplaced], [1, 1])
    assert.equal(Instances[0]?.State, 'refused')
    const [refusal] = Refusals
    assert.deepEqual(
      refusal?.Reasons.map((reason) => reason.Rule),
      [rule],
    )
    assert.equal(refusal?.Reasons[0]?.Found, found)
    assert.equal(refusal?.Reasons[0]?.Shortfall?.Missing, missing)
    assert.notEqual(refusal?.Reasons[0]?.Text, '')
  })

const changes: readonly {
  readonly name: string
  readonly parts: Parts
  readonly want: Partial<ChangeStep>
  readonly places?: number
}[] = [
  {
    name: 'lower what the task asks for',
    parts: { job: jobOf(asking({ CPU: 4_400 })), nodes: [aNode()] },
    want: {
      Kind: 'edit-job',
      Path: 'TaskGroups[app].Tasks[main].Resources.CPU',
      From: '4400',
      To: '4000',
    },
  },
  {
    name: 'lower the disk of the group',
    parts: { job: jobOf({ EphemeralDisk: { SizeMB: 100_300 } }), nodes: [aNode()] },
    want: { Kind: 'edit-job', Path: 'TaskGroups[app].EphemeralDisk.SizeMB', To: '100000' },
  },
  {
    name: 'free room where something else holds it',
    parts: {
      job: jobOf(asking({ CPU: 3_500 })),
      nodes: [aNode()],
      allocations: [
        anAllocation({ job: aJob({ ID: 'other', groups: [aGroup(asking({ CPU: 3_900 }))] }) }),
      ],
    },
    want: { Kind: 'free-capacity', NodeID: anId('node', 1), From: '3900', To: '500' },
  },
  {
    name: 'remove the constraint',
    parts: {
      job: jobOf({ Constraints: [{ LTarget: '${attr.x}', Operand: 'is_set' }] }),
      nodes: [aNode()],
    },
    want: { Kind: 'edit-job', Path: 'TaskGroups[app].Constraints[0]', From: '${attr.x} is_set' },
  },
  {
    name: 'let the node take work again',
    parts: { job: aJob(), nodes: [aNode({ SchedulingEligibility: 'ineligible' })] },
    want: { Kind: 'edit-node', Path: 'SchedulingEligibility', To: 'eligible' },
  },
  {
    name: 'name another datacenter',
    parts: { job: aJob({ Datacenters: ['dc2'] }), nodes: [aNode()] },
    want: { Kind: 'edit-job', Path: 'Datacenters', To: '["dc2","dc1"]' },
  },
  {
    name: 'use another pool',
    parts: { job: aJob({ NodePool: 'gpu' }), nodes: [aNode()] },
    want: { Kind: 'edit-job', Path: 'NodePool', From: 'gpu', To: 'default' },
  },
  {
    name: 'remove distinct_hosts when all hosts are taken',
    parts: {
      job: jobOf({ Count: 3, Constraints: [{ Operand: 'distinct_hosts' }] }),
      nodes: nodes(2),
    },
    want: { Kind: 'edit-job', Path: 'TaskGroups[app].Constraints[0]' },
  },
]
for (const { name, parts, want } of changes)
  test(`explain: smallest change is to ${name}`, () => {
    const [change] = explain(parts).Changes
    assert.equal(change?.Steps.length, 1)
    assert.partialDeepStrictEqual(change?.Steps[0], want)
    assert.equal(change?.Places, 1)
  })

test('explain: suggests setting node meta for a constraint', () => {
  const job = jobOf({ Constraints: [{ LTarget: '${meta.rack}', RTarget: 'r1' }] })
  const steps = explain({ job, nodes: [aNode()] }).Changes.flatMap((change) => change.Steps)
  assert.ok(steps.some((step) => step.Kind === 'edit-node' && step.Path === 'Meta.rack'))
})

test('explain: suggests adding a node', () => {
  const job = jobOf({ Count: 3, ...asking({ CPU: 3_000 }) })
  const { Changes, Unplaced, Instances } = explain({ job, nodes: nodes(2) })
  assert.equal(Unplaced, 3)
  assert.deepEqual(
    Instances.map((one) => one.State),
    ['queued', 'queued', 'refused'],
  )
  const added = Changes.find((change) => change.Steps[0]?.Kind === 'add-node')
  assert.equal(added?.Places, 1)
})

const lesser = aJob({
  ID: 'lesser',
  Priority: 20,
  groups: [aGroup({ Tasks: [aTask({ Resources: { CPU: 3_000, MemoryMB: 500 } })] })],
})
const urgency: readonly { name: string; priority: number; on: boolean; places: number }[] = [
  { name: 'those who run are less urgent', priority: 80, on: false, places: 1 },
  { name: 'those who run are as urgent', priority: 25, on: false, places: 0 },
  { name: 'it is on already', priority: 25, on: true, places: 0 },
]
for (const { name, priority, on, places } of urgency)
  test(`explain: suggests preemption if it helps: ${name}`, () => {
    const job = jobOf(asking({ CPU: 2_000 }), { ID: 'urgent', Priority: priority })
    const preemption = { ...PREEMPTION, ServiceSchedulerEnabled: on }
    const view = aCluster({
      job,
      versions: [lesser],
      nodes: [aNode()],
      allocations: [anAllocation({ job: lesser, NodeID: aNode().ID })],
      settings: { preemption },
    })
    const found = explain({ job, nodes: [aNode()] }, { view }).Changes
    const told = found.filter((change) => change.Steps[0]?.Kind === 'set-scheduler')
    assert.deepEqual(
      told.map((change) => change.Places),
      places === 0 ? [] : [places],
    )
    if (places > 0)
      assert.partialDeepStrictEqual(told[0]?.Steps, [
        { Path: 'PreemptionConfig.ServiceSchedulerEnabled', From: 'false', To: 'true' },
      ])
  })

test('explain: several reasons need several steps', () => {
  const job = jobOf(asking({ CPU: 4_100 }), { Datacenters: ['dc9'] })
  const { Changes, Refusals } = explain({ job, nodes: [aNode()] })
  assert.deepEqual(
    Refusals[0]?.Reasons.map((reason) => reason.Rule),
    ['datacenter', 'cpu'],
  )
  assert.equal(Changes[0]?.Steps.length, 2)
})

test('explain: groups nodes with the same reasons, or lists each', () => {
  const job = jobOf(asking({ CPU: 9_000 }))
  const parts = { job, nodes: nodes(30) }
  const together = explain(parts)
  assert.deepEqual(
    together.Refusals.map((refusal) => [refusal.NodeCount, refusal.Nodes.length]),
    [[30, 5]],
  )
  const apart = explain(parts, { scope: 'node', limit: 7 })
  assert.deepEqual([apart.Refusals.length, apart.RefusalsOmitted], [7, 23])
  assert.equal(apart.Refusals[0]?.ComputedClass, '')
})

test('explain: nearest node is listed first', () => {
  const small = aNode({
    ID: anId('node', 1),
    ComputedClass: 'a',
    NodeResources: { ...aNode().NodeResources, Memory: { MemoryMB: 100 } },
  })
  const larger = aNode({
    ID: anId('node', 2),
    ComputedClass: 'b',
    NodeResources: { ...aNode().NodeResources, Memory: { MemoryMB: 190 } },
  })
  const job = jobOf(asking({ MemoryMB: 200 }))
  const { Refusals } = explain({ job, nodes: [small, larger] })
  assert.deepEqual(
    Refusals.map((refusal) => [refusal.Nodes[0]?.ID, refusal.Distance]),
    [
      [anId('node', 2), 0.05],
      [anId('node', 1), 0.5],
    ],
  )
})

test('explain: delayed allocation is not reported as rejected', () => {
  const job = jobOf(asking({ CPU: 9_000 }))
  const knownOf = () => ({ State: 'delayed' as const, WaitUntil: '2030-01-01T00:00:00Z' })
  const told = explain({ job, nodes: [aNode()] }, { statusOf: knownOf })
  assert.equal(told.Instances[0]?.State, 'delayed')
  assert.deepEqual([told.Refusals, told.Changes, told.Metrics], [[], [], null])
})

test('explain: system job is explained for nodes without an allocation', () => {
  const other = aJob({ ID: 'other', Priority: 100, groups: [aGroup(asking({ CPU: 4_000 }))] })
  const job = jobOf(asking({ CPU: 100 }), { Type: 'system' })
  const allocations = [anAllocation({ job: other, NodeID: anId('node', 2) })]
  const { Instances, Desired } = explain({ job, nodes: nodes(2), allocations })
  assert.equal(Desired, 2)
  assert.deepEqual(
    Instances.map((one) => [one.NodeID, one.State]),
    [
      [anId('node', 1), 'queued'],
      [anId('node', 2), 'refused'],
    ],
  )
})

const NO_ENGINE = 'no engine at /run/docker.sock'
const WITHOUT_DOCKER = {
  ...aNode().Drivers,
  docker: {
    Attributes: null,
    Detected: false,
    Healthy: false,
    HealthDescription: NO_ENGINE,
    UpdateTime: '',
  },
}

const named: readonly { name: string; job: Job; text: string }[] = [
  {
    name: 'driver',
    job: jobOf({ Tasks: [aTask({ Driver: 'vm' })] }),
    text: 'missing drivers (vm); the node has raw_exec',
  },
  {
    name: 'driver that was not detected',
    job: jobOf({ Tasks: [aTask({ Driver: 'docker' })] }),
    text: `missing drivers (docker); the node has raw_exec; docker: ${NO_ENGINE}`,
  },
  {
    name: 'device',
    job: jobOf({ Tasks: [aTask({ Resources: { Devices: [{ Name: 'gpu' }] } })] }),
    text: 'missing devices (gpu); the node has none',
  },
  {
    name: 'volume',
    job: jobOf({ Volumes: { v: { Type: 'host', Source: 'data' } } }),
    text: 'missing compatible host volumes (data); the node has none',
  },
]
for (const { name, job, text } of named)
  test(`explain: names the missing ${name}`, () => {
    const [refusal] = explain({ job, nodes: [aNode({ Drivers: WITHOUT_DOCKER })] }).Refusals
    assert.equal(refusal?.Reasons[0]?.Text, text)
  })

const works: readonly { name: string; fields: Partial<AllocationRow>; placed: number }[] = [
  { name: 'of this version is done', fields: {}, placed: 1 },
  { name: 'of an older version is not done', fields: { JobVersion: 1 }, placed: 0 },
  { name: 'of a purged job of that ID is not done', fields: { CreateIndex: 4 }, placed: 0 },
  { name: 'that was killed is not done', fields: { DesiredStatus: 'stop' }, placed: 0 },
]
for (const { name, fields, placed } of works)
  for (const Type of ['batch', 'sysbatch'])
    test(`explain: ${Type} work ${name}`, () => {
      const job = { ...jobOf({}, { Type }), Version: 2, CreateIndex: 5 }
      const row = anAllocation({ job, ClientStatus: 'complete', CreateIndex: 6 })
      const allocations = [{ ...row, JobVersion: 2, ...fields }]
      assert.equal(explain({ job, nodes: [aNode()], allocations }).Placed, placed)
    })

test('explain: text names what an unrejected allocation waits for', () => {
  const job = jobOf(asking({ CPU: 100 }))
  const knownOf = () => ({ State: 'held' as const, Text: 'its deployment is paused' })
  const told = explainJob({ ...optionsFor({ job, nodes: [aNode()] }), statusOf: knownOf, index: 7 })
  assert.equal(
    told.Text,
    '1 of 1 allocations of group "app" are unplaced: its deployment is paused',
  )
})

test('explain: explanation of a job matches the contract', () => {
  const job = jobOf(asking({ CPU: 4_400 }))
  const told = explainJob({ ...optionsFor({ job, nodes: [aNode()] }), index: 7 })
  assert.equal(
    told.Text,
    '1 of 1 allocations of group "app" are unplaced: closest node node-1: 4,000 MHz of cpu free, ' +
      '4,400 MHz requested; to place 1: set cpu of task "main" in group "app" to 4,000 MHz or less',
  )
  assert.ok(Value.Check(Explanation, told))
  const placed = explainJob({
    ...optionsFor({ job, nodes: [aNode()], allocations: [anAllocation({ job })] }),
    index: 7,
  })
  assert.deepEqual([placed.Text, placed.Groups], ['all allocations are placed', []])
})

test('property: each reducing change places as many as stated', () => {
  const sizes = fc.record({
    cpu: fc.integer({ min: 100, max: 9_000 }),
    memory: fc.integer({ min: 100, max: 12_000 }),
    count: fc.integer({ min: 1, max: 4 }),
  })
  fc.assert(
    fc.property(sizes, ({ cpu, memory, count }) => {
      const job = jobOf({ Count: count, ...asking({ CPU: cpu, MemoryMB: memory }) })
      const before = planFor({ job, nodes: nodes(2) }).placements.length
      for (const { Steps, Places } of explain({ job, nodes: nodes(2) }).Changes) {
        if (!Steps.every((step) => step.Kind === 'edit-job')) continue
        const value = (field: string, now: number): number =>
          Number(Steps.find((step) => step.Path.endsWith(field))?.To ?? now)
        const next = asking({ CPU: value('.CPU', cpu), MemoryMB: value('.MemoryMB', memory) })
        const changed = jobOf({ Count: count, ...next })
        assert.equal(planFor({ job: changed, nodes: nodes(2) }).placements.length, before + Places)
      }
    }),
    { numRuns: 60, seed: 5 },
  )
})
