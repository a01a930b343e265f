import assert from 'node:assert/strict'
import test from 'node:test'
import type { Input, Job, Node, TaskGroup } from '@reeve/contract'
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
import { decodeTopScores, expandMetrics } from '../model/index.ts'
import { schedule } from './schedule.ts'

function nodeOf(number: number, fields: Partial<Node> = {}): Node {
  return aNode({
    ID: anId('node', number),
    Name: `node-${number}`,
    ComputedClass: `v1:${number}`,
    ...fields,
  })
}

/** The nodes on which the first group of the job is placed, by number. */
function placed(job: Job, cluster: readonly Node[]): readonly number[] {
  return planFor({ job, nodes: cluster }).placements.map(
    (row) => cluster.findIndex((node) => node.ID === row.NodeID) + 1,
  )
}

const DOWN = aNode().Drivers['raw_exec']
assert.ok(DOWN)

// Feasibility. In each cluster only the second node is feasible.

const rules: readonly {
  name: string
  job?: Input<Job>
  group?: Input<TaskGroup>
  bad: Partial<Node>
  good?: Partial<Node>
  reason: string | undefined
}[] = [
  {
    name: 'another datacenter',
    job: { Datacenters: ['dc1'] },
    bad: { Datacenter: 'dc2' },
    reason: undefined,
  },
  {
    name: 'a datacenter that no glob matches',
    job: { Datacenters: ['eu-*', 'us-1'] },
    bad: { Datacenter: 'us-2' },
    good: { Datacenter: 'eu-5' },
    reason: undefined,
  },
  { name: 'another pool', bad: { NodePool: 'gpu' }, reason: undefined },
  { name: 'a node that is down', bad: { Status: 'down' }, reason: undefined },
  { name: 'an ineligible node', bad: { SchedulingEligibility: 'ineligible' }, reason: undefined },
  { name: 'a missing driver', bad: { Drivers: {} }, reason: 'missing drivers' },
  {
    name: 'an unhealthy driver',
    bad: { Drivers: { raw_exec: { ...DOWN, Healthy: false } } },
    reason: 'missing drivers',
  },
  {
    name: 'a constraint of the job',
    job: { Constraints: [{ LTarget: '${attr.kernel.name}', RTarget: 'linux' }] },
    bad: { Attributes: { 'kernel.name': 'windows' } },
    reason: '${attr.kernel.name} = linux',
  },
  {
    name: 'a constraint of the group',
    group: { Constraints: [{ LTarget: '${meta.rack}', Operand: 'is_set' }] },
    bad: {},
    good: { Meta: { rack: 'r1' } },
    reason: '${meta.rack} is_set',
  },
  {
    name: 'a constraint of a task',
    group: {
      Tasks: [
        aTask({ Constraints: [{ LTarget: '${node.class}', Operand: '!=', RTarget: 'old' }] }),
      ],
    },
    bad: { NodeClass: 'old' },
    reason: '${node.class} != old',
  },
  {
    name: 'a constraint on what is unique',
    job: { Constraints: [{ LTarget: '${node.unique.name}', RTarget: 'node-2' }] },
    bad: {},
    reason: '${node.unique.name} = node-2',
  },
  {
    name: 'a mode of the network that the node lacks',
    group: { Networks: [{ Mode: 'bridge' }] },
    bad: {},
    good: {
      NodeResources: {
        ...aNode().NodeResources,
        NodeNetworks: [
          { Mode: 'bridge', Device: 'br0', MacAddress: '', Speed: 0, Addresses: null },
        ],
      },
    },
    reason: 'missing network',
  },
  {
    name: 'a host network that the node lacks',
    group: { Networks: [{ DynamicPorts: [{ Label: 'a', HostNetwork: 'public' }] }] },
    bad: {},
    good: {
      NodeResources: {
        ...aNode().NodeResources,
        NodeNetworks: [
          {
            Mode: 'host',
            Device: 'eth1',
            MacAddress: '',
            Speed: 0,
            Addresses: [
              {
                Family: 'ipv4',
                Alias: 'public',
                Address: '1.2.3.4',
                ReservedPorts: '',
                Gateway: '',
              },
            ],
          },
        ],
      },
    },
    reason: 'missing host network "public"',
  },
  {
    name: 'a volume that the node lacks',
    group: { Volumes: { v: { Type: 'host', Source: 'data' } } },
    bad: { HostVolumes: { data: { Name: 'data', Path: '/d', ReadOnly: true, ID: '' } } },
    good: { HostVolumes: { data: { Name: 'data', Path: '/d', ReadOnly: false, ID: '' } } },
    reason: 'missing compatible host volumes',
  },
  {
    name: 'the volume of this very allocation',
    group: { Volumes: { v: { Type: 'host', Source: 'data', PerAlloc: true } } },
    bad: { HostVolumes: { 'data[1]': { Name: 'data[1]', Path: '/d', ReadOnly: false, ID: '' } } },
    good: { HostVolumes: { 'data[0]': { Name: 'data[0]', Path: '/d', ReadOnly: false, ID: '' } } },
    reason: 'missing compatible host volumes',
  },
]
for (const { name, job, group, bad, good, reason } of rules)
  test(`placement: ${name} is filtered`, () => {
    const cluster = [nodeOf(1, { NodeClass: 'x', ...bad }), nodeOf(2, good)]
    const wanted = aJob({ ...job, groups: [aGroup(group)] })
    const { placements } = planFor({ job: wanted, nodes: cluster })
    assert.deepEqual(
      placements.map((row) => row.NodeID),
      [anId('node', 2)],
    )
    const metrics = expandMetrics(placements[0]?.Metrics ?? {})
    assert.equal(metrics.NodesEvaluated, reason === undefined ? 1 : 2)
    assert.deepEqual(metrics.ConstraintFiltered, reason === undefined ? null : { [reason]: 1 })
    assert.equal(metrics.NodesFiltered, reason === undefined ? 0 : 1)
    const filteredClass = bad.NodeClass ?? 'x'
    assert.deepEqual(metrics.ClassFiltered, reason === undefined ? null : { [filteredClass]: 1 })
  })

test('placement: pool "all" contains every pool', () => {
  const cluster = [nodeOf(1, { NodePool: 'gpu' })]
  assert.deepEqual(placed(aJob({ NodePool: 'all' }), cluster), [1])
})

test('placement: missing devices filter every node', () => {
  const job = aJob({
    groups: [aGroup({ Tasks: [aTask({ Resources: { Devices: [{ Name: 'gpu' }] } })] })],
  })
  const { evaluation } = planFor({ job })
  assert.deepEqual(evaluation.FailedTGAllocs?.['app']?.ConstraintFiltered, { 'missing devices': 1 })
})

test('placement: nodes of a class are counted under the violated constraint', () => {
  const job = aJob({ Constraints: [{ LTarget: '${attr.kernel.name}', RTarget: 'plan9' }] })
  const { evaluation } = planFor({ job, nodes: nodes(5) })
  const metrics = evaluation.FailedTGAllocs?.['app']
  assert.deepEqual(metrics?.ConstraintFiltered, { '${attr.kernel.name} = plan9': 5 })
})

// Ranking.

test('placement: binpack chooses the fullest node that fits', () => {
  const other = aJob({
    ID: 'other',
    groups: [aGroup({ Tasks: [aTask({ Resources: { CPU: 2_000 } })] })],
  })
  const allocations = [anAllocation({ job: other, NodeID: anId('node', 2) })]
  const { placements } = planFor({ job: aJob(), nodes: nodes(3), allocations })
  assert.equal(placements[0]?.NodeID, anId('node', 2))
})

test('placement: spread algorithm chooses the emptiest node', () => {
  const other = aJob({ ID: 'other' })
  const allocations = [1, 2].map((n) =>
    anAllocation({ job: other, ID: anId('alloc', n), NodeID: anId('node', n) }),
  )
  const settings = { algorithm: 'spread' as const }
  const { placements } = planFor({ job: aJob(), nodes: nodes(3), allocations, settings })
  assert.equal(placements[0]?.NodeID, anId('node', 3))
})

test('placement: ties go to the lowest ID', () => {
  assert.deepEqual(placed(aJob(), nodes(4)), [1])
})

test('placement: anti-affinity to other allocations of the group', () => {
  const job = aJob({ groups: [aGroup({ Count: 3 })] })
  assert.deepEqual(placed(job, nodes(3)), [1, 2, 3])
})

test('placement: positive and negative affinity', () => {
  const cluster = [
    nodeOf(1, { Meta: { disk: 'slow' } }),
    nodeOf(2),
    nodeOf(3, { Meta: { disk: 'fast' } }),
  ]
  const wants = (weight: number, value: string): Job =>
    aJob({ Affinities: [{ LTarget: '${meta.disk}', RTarget: value, Weight: weight }] })
  assert.deepEqual(placed(wants(50, 'fast'), cluster), [3])
  assert.deepEqual(placed(wants(-50, 'slow'), cluster), [2])
})

test('placement: sticky disk prefers the previous node', () => {
  const disk = { EphemeralDisk: { Sticky: true } }
  const before = { ...aJob({ groups: [aGroup(disk)] }), CreateIndex: 1 }
  const tasks = [aTask({ User: 'x' })]
  const job = {
    ...aJob({ groups: [aGroup({ ...disk, Tasks: tasks })] }),
    Version: 1,
    CreateIndex: 1,
  }
  const allocations = [anAllocation({ job: before, NodeID: anId('node', 3) })]
  const { placements } = planFor({ job, versions: [before], nodes: nodes(3), allocations })
  assert.equal(placements[0]?.NodeID, anId('node', 3))
})

test('placement: stores the five top scores, best first', () => {
  const { placements } = planFor({ job: aJob(), nodes: nodes(9) })
  const best = decodeTopScores(placements[0]?.Metrics ?? {})
  assert.deepEqual(
    best.map(([id]) => id),
    [1, 2, 3, 4, 5].map((n) => anId('node', n)),
  )
})

// Distinct hosts and properties.

test('distinct_hosts: one allocation of the job per node', () => {
  const job = aJob({
    Constraints: [{ Operand: 'distinct_hosts' }],
    groups: [aGroup({ Name: 'a' }), aGroup({ Name: 'b', Count: 2 })],
  })
  const { placements, evaluation } = planFor({ job, nodes: nodes(2) })
  assert.equal(placements.length, 2)
  assert.deepEqual(evaluation.QueuedAllocations, { a: 0, b: 1 })
  assert.deepEqual(evaluation.FailedTGAllocs?.['b']?.ConstraintFiltered, { distinct_hosts: 2 })
})

test('distinct_hosts: of a group ignores other groups; false disables it', () => {
  const job = aJob({
    groups: [
      aGroup({ Name: 'a', Constraints: [{ Operand: 'distinct_hosts' }] }),
      aGroup({
        Name: 'b',
        Count: 2,
        Constraints: [{ Operand: 'distinct_hosts', RTarget: 'false' }],
      }),
    ],
  })
  assert.equal(planFor({ job, nodes: nodes(1) }).placements.length, 3)
})

test('distinct_hosts: counts existing allocations, not stopping ones', () => {
  const job = aJob({ Constraints: [{ Operand: 'distinct_hosts' }], groups: [aGroup({ Count: 2 })] })
  const runs = anAllocation({ job })
  const twoNodes = planFor({ job, nodes: nodes(2), allocations: [runs] })
  assert.deepEqual(
    twoNodes.placements.map((row) => row.NodeID),
    [anId('node', 2)],
  )
  const tasks = [aTask({ User: 'x' })]
  const before = { ...job, CreateIndex: 1 }
  const next = {
    ...aJob({ ...job, groups: [aGroup({ Tasks: tasks })] }),
    Version: 1,
    CreateIndex: 1,
  }
  const replaced = planFor({ job: next, versions: [before], nodes: nodes(1), allocations: [runs] })
  assert.equal(replaced.placements.length, 1)
})

test('distinct_property: limit per value; nodes without a value are filtered', () => {
  const cluster = [
    nodeOf(1, { Meta: { rack: 'r1' } }),
    nodeOf(2, { Meta: { rack: 'r1' } }),
    nodeOf(3, { Meta: { rack: 'r2' } }),
    nodeOf(4),
  ]
  const job = (allowed: string): Job =>
    aJob({
      Constraints: [{ Operand: 'distinct_property', LTarget: '${meta.rack}', RTarget: allowed }],
      groups: [aGroup({ Count: 9 })],
    })
  const one = planFor({ job: job(''), nodes: cluster })
  assert.equal(one.placements.length, 2)
  assert.deepEqual(one.evaluation.FailedTGAllocs?.['app']?.ConstraintFiltered, {
    '${meta.rack} distinct_property': 4,
  })
  assert.equal(planFor({ job: job('2'), nodes: cluster }).placements.length, 4)
})

// Capacity.

const dimensions: readonly { name: string; group: Input<TaskGroup>; dimension: string }[] = [
  { name: 'processor', group: { Tasks: [aTask({ Resources: { CPU: 4_001 } })] }, dimension: 'cpu' },
  {
    name: 'memory',
    group: { Tasks: [aTask({ Resources: { MemoryMB: 8_193 } })] },
    dimension: 'memory',
  },
  { name: 'disk', group: { EphemeralDisk: { SizeMB: 100_001 } }, dimension: 'disk' },
  {
    name: 'memory of secrets',
    group: { Tasks: [aTask({ Resources: { MemoryMB: 8_000, SecretsMB: 193 } })] },
    dimension: 'memory',
  },
  {
    name: 'a port',
    group: { Networks: [{ ReservedPorts: [{ Label: 'ssh', Value: 22 }] }] },
    dimension: 'network: reserved port collision ssh=22',
  },
]
for (const { name, group, dimension } of dimensions)
  test(`placement: reports exhausted ${name}`, () => {
    const full = aNode({
      ReservedResources: {
        ...aNode().ReservedResources,
        Networks: { ReservedHostPorts: '22' },
      },
    })
    const { evaluation } = planFor({ job: aJob({ groups: [aGroup(group)] }), nodes: [full] })
    assert.deepEqual(evaluation.FailedTGAllocs?.['app']?.DimensionExhausted, { [dimension]: 1 })
  })

test('placement: reserved resources are not assigned', () => {
  const keeping = aNode({
    ReservedResources: {
      ...aNode().ReservedResources,
      Cpu: { CpuShares: 3_950, ReservedCpuCores: null },
    },
  })
  const { evaluation } = planFor({ job: aJob(), nodes: [keeping] })
  assert.deepEqual(evaluation.FailedTGAllocs?.['app']?.DimensionExhausted, { cpu: 1 })
})

test('placement: stopping allocation holds resources until reported terminal', () => {
  const big = aJob({ groups: [aGroup({ Tasks: [aTask({ Resources: { CPU: 3_000 } })] })] })
  const other = { ...big, ID: 'other' }
  const stopping = anAllocation({ job: other, DesiredStatus: 'stop' })
  assert.equal(planFor({ job: big, allocations: [stopping] }).placements.length, 0)
  const over = { ...stopping, ClientStatus: 'complete' as const }
  assert.equal(planFor({ job: big, allocations: [over] }).placements.length, 1)
})

test('placement: sequential tasks share resources', () => {
  const job = aJob({
    groups: [
      aGroup({
        Tasks: [
          aTask({ Resources: { CPU: 3_000 } }),
          aTask({ Name: 'before', Lifecycle: { Hook: 'prestart' }, Resources: { CPU: 3_000 } }),
        ],
      }),
    ],
  })
  assert.equal(planFor({ job }).placements.length, 1)
})

test('placement: each core is assigned once', () => {
  const job = aJob({
    groups: [aGroup({ Count: 3, Tasks: [aTask({ Resources: { Cores: 2, MemoryMB: 64 } })] })],
  })
  const { placements, evaluation } = planFor({ job })
  const tasks = placements.map((row) => row.AllocatedResources.Tasks['main']?.Cpu)
  assert.deepEqual(tasks, [
    { CpuShares: 2_000, ReservedCores: [0, 1] },
    { CpuShares: 2_000, ReservedCores: [2, 3] },
  ])
  assert.deepEqual(evaluation.QueuedAllocations, { app: 1 })
  const failed = evaluation.FailedTGAllocs?.['app']
  assert.deepEqual([failed?.DimensionExhausted, failed?.ResourcesExhausted], [{ cores: 1 }, null])
})

test('placement: free cores without CPU shares exhaust CPU', () => {
  const other = aJob({
    ID: 'other',
    groups: [aGroup({ Tasks: [aTask({ Resources: { CPU: 3_000 } })] })],
  })
  const job = aJob({ groups: [aGroup({ Tasks: [aTask({ Resources: { Cores: 2 } })] })] })
  const { evaluation } = planFor({ job, allocations: [anAllocation({ job: other })] })
  assert.deepEqual(evaluation.FailedTGAllocs?.['app']?.DimensionExhausted, { cpu: 1 })
})

test('placement: reserved cores are skipped', () => {
  const job = aJob({ groups: [aGroup({ Tasks: [aTask({ Resources: { Cores: 1 } })] })] })
  const keeping = aNode({
    ReservedResources: {
      ...aNode().ReservedResources,
      Cpu: { CpuShares: 0, ReservedCpuCores: [0] },
    },
  })
  const { placements } = planFor({ job, nodes: [keeping] })
  assert.deepEqual(placements[0]?.AllocatedResources.Tasks['main']?.Cpu.ReservedCores, [1])
})

test('placement: memory oversubscription only if enabled', () => {
  const job = aJob({
    groups: [aGroup({ Tasks: [aTask({ Resources: { MemoryMB: 100, MemoryMaxMB: 400 } })] })],
  })
  const memory = (oversubscription: boolean): unknown =>
    planFor({ job, settings: { memoryOversubscription: oversubscription } }).placements[0]
      ?.AllocatedResources.Tasks['main']?.Memory
  assert.deepEqual(memory(false), { MemoryMB: 100, MemoryMaxMB: 0 })
  assert.deepEqual(memory(true), { MemoryMB: 100, MemoryMaxMB: 400 })
})

test('placement: ports are assigned and shown in both formats', () => {
  const network = {
    DynamicPorts: [
      { Label: 'http', To: 80 },
      { Label: 'admin', To: -1 },
    ],
    ReservedPorts: [{ Label: 'ssh', Value: 22 }],
  }
  const job = aJob({ groups: [aGroup({ Networks: [network] })] })
  const { placements } = planFor({ job })
  const shared = placements[0]?.AllocatedResources.Shared
  const [ssh, http, admin] = shared?.Ports ?? []
  assert.deepEqual(ssh, { Label: 'ssh', Value: 22, To: 0, HostIP: '10.0.0.1' })
  assert.equal(http?.To, 80)
  assert.equal(admin?.To, admin?.Value)
  assert.ok(http && http.Value >= 20_000 && http.Value < 32_000)
  assert.notEqual(http?.Value, admin?.Value)
  const [given] = shared?.Networks ?? []
  assert.equal(given?.IP, '10.0.0.1')
  assert.equal(given?.Device, 'eth0')
  assert.deepEqual(
    given?.DynamicPorts?.map((port) => [port.Label, port.Value]),
    [
      ['http', http?.Value],
      ['admin', admin?.Value],
    ],
  )
})

test('placement: static port once per node', () => {
  const network = { ReservedPorts: [{ Label: 'ssh', Value: 22 }] }
  const job = aJob({ groups: [aGroup({ Count: 3, Networks: [network] })] })
  const { placements, evaluation } = planFor({ job, nodes: nodes(2) })
  assert.equal(new Set(placements.map((row) => row.NodeID)).size, 2)
  assert.deepEqual(evaluation.FailedTGAllocs?.['app']?.DimensionExhausted, {
    'network: reserved port collision ssh=22': 2,
  })
})

test('placement: task network gets its own ports', () => {
  const tasks = [aTask({ Resources: { Networks: [{ DynamicPorts: [{ Label: 'db' }] }] } })]
  const { placements } = planFor({ job: aJob({ groups: [aGroup({ Tasks: tasks })] }) })
  const allocated = placements[0]?.AllocatedResources
  const [network] = allocated?.Tasks['main']?.Networks ?? []
  assert.equal(network?.IP, '10.0.0.1')
  assert.ok((network?.DynamicPorts?.[0]?.Value ?? 0) >= 20_000)
  assert.equal(allocated?.Shared.Ports, null)
})

test('placement: allocation time uses the clock of the context, if any', () => {
  let now = 0
  const context = { ...seeded(1), monotonicNs: () => (now += 500) }
  const job = aJob()
  const { placements } = schedule(aCluster({ job }), anEvaluation(job), context)
  assert.equal(placements[0]?.Metrics.AllocationTime, 500)
})
