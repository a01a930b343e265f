import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ClientStatus } from '@reeve/contract'
import { TopologyModel } from './topology-model.ts'

function aNode(ID: string, Datacenter = 'dc1') {
  return {
    ID,
    Name: `node-${ID}`,
    Datacenter,
    NodePool: 'default',
    Status: 'ready',
    Drain: false,
    SchedulingEligibility: 'eligible',
  } as const
}

function anAllocation(ID: string, ClientStatus: ClientStatus = 'running') {
  return {
    ID,
    NodeID: 'n1',
    Name: `web.app[${ID}]`,
    JobID: 'web',
    Namespace: 'default',
    ClientStatus,
    DesiredStatus: 'run',
    Resources: { CPU: 100, MemoryMB: 64, DiskMB: 0, Networks: null },
  } as const
}

test('allocations lie on their node and leave it when they end', () => {
  const model = new TopologyModel()
  model.setNode(aNode('n1'))
  model.setAllocation(anAllocation('a'))
  model.setAllocation(anAllocation('b', 'pending'))
  assert.equal([...model.barsOf('n1')].length, 2)
  assert.deepEqual(model.totals('cpu').taken, 200)
  model.setAllocation(anAllocation('a', 'complete'))
  assert.deepEqual(
    [...model.barsOf('n1')].map(({ id }) => id),
    ['b'],
  )
  assert.equal(model.barCount, 1)
})

test('an allocation that changes is not counted twice', () => {
  const model = new TopologyModel()
  model.setAllocation(anAllocation('a', 'pending'))
  model.setAllocation(anAllocation('a'))
  assert.equal(model.barCount, 1)
  assert.equal(model.bar('a')?.status, 'running')
})

test('nodes come by datacenter and name', () => {
  const model = new TopologyModel()
  for (const node of [aNode('n2', 'dc2'), aNode('n3'), aNode('n1')]) model.setNode(node)
  assert.deepEqual(
    model.nodes().map(({ id }) => id),
    ['n1', 'n3', 'n2'],
  )
})

test('what a node keeps for itself is not there for allocations', () => {
  const model = new TopologyModel()
  model.setNode({
    ...aNode('n1'),
    NodeResources: {
      Cpu: { CpuShares: 4_000, TotalCpuCores: 4, ReservableCpuCores: null },
      Processors: null,
      Memory: { MemoryMB: 1_024 },
      Disk: { DiskMB: 0 },
      Devices: null,
      NodeNetworks: null,
      Networks: null,
      MinDynamicPort: 0,
      MaxDynamicPort: 0,
    },
    ReservedResources: {
      Cpu: { CpuShares: 500, ReservedCpuCores: null },
      Memory: { MemoryMB: 24 },
      Disk: { DiskMB: 0 },
      Networks: { ReservedHostPorts: '' },
    },
  })
  assert.deepEqual(model.nodes()[0]?.has, { cpu: 3_500, memory: 1_000 })
})
