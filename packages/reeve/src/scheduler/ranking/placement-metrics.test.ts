import assert from 'node:assert/strict'
import test from 'node:test'
import type { Node } from '@reeve/contract'
import {
  aGroup,
  aJob,
  anAllocation,
  anId,
  aNode,
  aTask,
  planFor,
} from '../../../test/build/index.ts'
import { decodeTopScores, expandMetrics } from '../../model/index.ts'

function nodeOf(number: number, fields: Partial<Node> = {}): Node {
  return aNode({ ID: anId('node', number), ComputedClass: `v1:${number}`, ...fields })
}

const cluster = [
  nodeOf(1, { Datacenter: 'dc1', NodeClass: 'big', Meta: { rack: 'r1' } }),
  nodeOf(2, { Datacenter: 'dc2', NodeClass: 'big', Meta: { rack: 'r2' } }),
  nodeOf(3, { Datacenter: 'dc2', NodeClass: 'small', Drivers: {} }),
  nodeOf(4, { Datacenter: 'dc3' }),
]
const full = aJob({
  ID: 'other',
  groups: [aGroup({ Tasks: [aTask({ Resources: { CPU: 3_950 } })] })],
})
const allocations = [anAllocation({ job: full, NodeID: anId('node', 1) })]
const wanted = { Datacenters: ['dc1', 'dc2'] }

test('metrics: counts every node of pool and datacenters once', () => {
  const { placements } = planFor({ job: aJob(wanted), nodes: cluster, allocations })
  assert.deepEqual(expandMetrics(placements[0]?.Metrics ?? {}), {
    NodesEvaluated: 3,
    NodesFiltered: 1,
    NodesInPool: 3,
    NodePool: 'default',
    NodesAvailable: { dc1: 1, dc2: 2 },
    ClassFiltered: { small: 1 },
    ConstraintFiltered: { 'missing drivers': 1 },
    NodesExhausted: 1,
    ClassExhausted: { big: 1 },
    DimensionExhausted: { cpu: 1 },
    QuotaExhausted: null,
    ResourcesExhausted: null,
    Scores: {
      [`${anId('node', 2)}.binpack`]: 0.076003,
      [`${anId('node', 2)}.job-anti-affinity`]: 0,
      [`${anId('node', 2)}.node-affinity`]: 0,
      [`${anId('node', 2)}.node-reschedule-penalty`]: 0,
      [`${anId('node', 2)}.normalized-score`]: 0.076003,
    },
    ScoreMetaData: [
      {
        NodeID: anId('node', 2),
        Scores: {
          binpack: 0.076003,
          'job-anti-affinity': 0,
          'node-reschedule-penalty': 0,
          'node-affinity': 0,
        },
        NormScore: 0.076003,
      },
    ],
    AllocationTime: 0,
    CoalescedFailures: 0,
  })
})

test('metrics: failure reports exhausted dimensions and demand', () => {
  const job = aJob({
    ...wanted,
    groups: [aGroup({ Count: 3, Tasks: [aTask({ Resources: { CPU: 5_000, MemoryMB: 64 } })] })],
  })
  const { evaluation } = planFor({ job, nodes: cluster })
  const metrics = evaluation.FailedTGAllocs?.['app']
  assert.equal(metrics?.NodesExhausted, 2)
  assert.deepEqual(metrics?.DimensionExhausted, { cpu: 2 })
  assert.deepEqual(metrics?.ResourcesExhausted, {
    main: { CPU: 15_000, MemoryMB: 0, DiskMB: 0, Networks: null },
  })
  assert.equal(metrics?.CoalescedFailures, 2)
  assert.equal(metrics?.ScoreMetaData, null)
})

test('metrics: counts follow the plan', () => {
  const job = aJob({
    ...wanted,
    groups: [aGroup({ Count: 3, Constraints: [{ Operand: 'distinct_hosts' }] })],
  })
  const { placements, evaluation } = planFor({ job, nodes: cluster })
  const filtered = placements.map((row) => row.Metrics.ConstraintFiltered)
  assert.deepEqual(filtered, [
    { 'missing drivers': 1 },
    { distinct_hosts: 1, 'missing drivers': 1 },
  ])
  assert.deepEqual(evaluation.FailedTGAllocs?.['app']?.ConstraintFiltered, {
    distinct_hosts: 2,
    'missing drivers': 1,
  })
})

test('metrics: spread is part of the score if it applies', () => {
  const spread = { Attribute: '${meta.rack}', SpreadTarget: [{ Value: 'r2', Percent: 100 }] }
  const job = aJob({ ...wanted, Spreads: [spread], groups: [aGroup({ Count: 2 })] })
  const { placements } = planFor({ job, nodes: cluster })
  assert.deepEqual(
    placements.map((row) => row.NodeID),
    [anId('node', 2), anId('node', 2)],
  )
  assert.equal(decodeTopScores(placements[0]?.Metrics ?? {})[0]?.[2]?.['allocation-spread'], 0.5)
})

test('metrics: system job has no spread but distinct_property', () => {
  const job = aJob({
    ...wanted,
    Type: 'system',
    Constraints: [{ Operand: 'distinct_property', LTarget: '${attr.kernel.name}' }],
  })
  const { placements } = planFor({ job, nodes: cluster.slice(0, 2) })
  assert.equal(placements.length, 1)
})
