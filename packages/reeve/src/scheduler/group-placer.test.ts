import assert from 'node:assert/strict'
import test from 'node:test'
import type { Node } from '@reeve/contract'
import { aGroup, aJob, anAllocation, anId, aNode, aTask, planFor } from '../../test/build/index.ts'

function nodeOf(number: number, fields: Partial<Node>): Node {
  return aNode({ ID: anId('node', number), Name: `node-${number}`, ...fields })
}

const STICKY = { Volumes: { data: { Type: 'host', Source: 'data', Sticky: true } } }
const HOST_VOLUMES = {
  HostVolumes: { data: { ID: '', Name: 'data', Path: '/srv', ReadOnly: false } },
}

test('placement: sticky volume binds to the previous node', () => {
  const before = { ...aJob({ groups: [aGroup(STICKY)] }), CreateIndex: 1 }
  const lost = anAllocation({ job: before, NodeID: anId('node', 3), ClientStatus: 'lost' })
  const allocations = [{ ...lost, DesiredStatus: 'stop' as const }]
  const three = [1, 2, 3].map((n) => nodeOf(n, HOST_VOLUMES))
  const { placements } = planFor({ job: before, nodes: three, allocations })
  assert.equal(placements[0]?.NodeID, anId('node', 3))
})

test('placement: sticky volume waits for its node until it is removed', () => {
  const job = { ...aJob({ groups: [aGroup(STICKY)] }), CreateIndex: 1 }
  const lost = anAllocation({ job, NodeID: anId('node', 3), ClientStatus: 'lost' })
  const allocations = [{ ...lost, DesiredStatus: 'stop' as const }]
  const away = nodeOf(3, { ...HOST_VOLUMES, SchedulingEligibility: 'ineligible' })
  const waiting = planFor({ job, nodes: [nodeOf(1, HOST_VOLUMES), away], allocations })
  assert.equal(waiting.placements.length, 0)
  assert.deepEqual(waiting.evaluation.QueuedAllocations, { app: 1 })
  const removed = planFor({ job, nodes: [nodeOf(1, HOST_VOLUMES)], allocations })
  assert.equal(removed.placements[0]?.NodeID, anId('node', 1))
})

test('placement: required NUMA fits nowhere, preferred anywhere', () => {
  const wants = (Affinity: string) =>
    planFor({
      job: aJob({ groups: [aGroup({ Tasks: [aTask({ Resources: { NUMA: { Affinity } } })] })] }),
    })
  const filtered = wants('require').evaluation.FailedTGAllocs?.['app']?.ConstraintFiltered
  assert.deepEqual(filtered, { 'missing NUMA topology': 1 })
  assert.equal(wants('prefer').placements.length, 1)
})
