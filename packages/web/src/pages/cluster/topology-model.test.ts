import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TopologyLoad } from '@reeve/contract'
import { TopologyModel, nodeTotals } from './topology-model.ts'

function aLoad(fields: Partial<TopologyLoad> = {}): TopologyLoad {
  return {
    Namespace: 'default',
    ClientStatus: 'running',
    CPU: 100,
    MemoryMB: 64,
    Count: 2,
    ...fields,
  }
}

function aNode(ID: string, Datacenter = 'dc1', Loads: readonly TopologyLoad[] = []) {
  return {
    ID,
    Name: `node-${ID}`,
    Datacenter,
    NodePool: 'default',
    Status: 'ready',
    Drain: false,
    SchedulingEligibility: 'eligible',
    CPU: 4_000,
    MemoryMB: 1_024,
    Loads,
  } as const
}

test('what lies on the nodes is added up, of each and of all', () => {
  const model = new TopologyModel()
  model.setNode(aNode('n1', 'dc1', [aLoad(), aLoad({ ClientStatus: 'pending', Count: 1 })]))
  model.setNode(aNode('n2', 'dc1', [aLoad({ MemoryMB: 32, Count: 10 })]))
  assert.deepEqual(model.totals('cpu'), { allocated: 1_300, count: 13, capacity: 8_000 })
  const node = model.node('n1') ?? assert.fail()
  assert.deepEqual(nodeTotals(node, 'memory'), { allocated: 192, count: 3 })
})

test('a node that is read again replaces what was known of it', () => {
  const model = new TopologyModel()
  model.setNode(aNode('n1', 'dc1', [aLoad()]))
  model.setNode(aNode('n1'))
  assert.deepEqual(model.totals('cpu'), { allocated: 0, count: 0, capacity: 4_000 })
  model.deleteNode('n1')
  assert.equal(model.nodeCount, 0)
})

test('nodes come by datacenter and name', () => {
  const model = new TopologyModel()
  for (const node of [aNode('n2', 'dc2'), aNode('n3'), aNode('n1')]) model.setNode(node)
  assert.deepEqual(
    model.nodes().map(({ id }) => id),
    ['n1', 'n3', 'n2'],
  )
})
