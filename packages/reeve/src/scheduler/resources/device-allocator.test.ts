import assert from 'node:assert/strict'
import test from 'node:test'
import type { Input, Node, NodeDevice, RequestedDevice } from '@reeve/contract'
import {
  aGroup,
  aJob,
  anAllocation,
  anId,
  aNode,
  aTask,
  planFor,
} from '../../../test/build/index.ts'
import { decodeTopScores } from '../../model/index.ts'

function gpu(name: string, ids: readonly string[], memoryGiB: number): NodeDevice {
  return {
    Vendor: 'acme',
    Type: 'gpu',
    Name: name,
    Instances: ids.map((id) => ({
      ID: id,
      Healthy: !id.startsWith('ill'),
      HealthDescription: '',
    })),
    Attributes: {
      memory: { Int: memoryGiB, String: null, Float: null, Bool: null, Unit: 'GiB' },
    },
  }
}

function nodeWith(number: number, ...devices: readonly NodeDevice[]): Node {
  const plain = aNode()
  return aNode({
    ID: anId('node', number),
    ComputedClass: `v1:${number}`,
    NodeResources: { ...plain.NodeResources, Devices: devices },
  })
}

function jobFor(...asks: readonly Input<RequestedDevice>[]) {
  return aJob({ groups: [aGroup({ Tasks: [aTask({ Resources: { Devices: asks } })] })] })
}

const small = gpu('small', ['s2', 's1'], 4)
const large = gpu('large', ['l1', 'l2', 'ill3'], 16)

const cases: readonly {
  readonly name: string
  readonly asks: readonly Input<RequestedDevice>[]
  readonly want: readonly string[] | undefined
}[] = [
  { name: 'any of a type, by name and then by ID', asks: [{ Name: 'gpu' }], want: ['l1'] },
  { name: 'of one model', asks: [{ Name: 'acme/gpu/small', Count: 2 }], want: ['s1', 's2'] },
  {
    name: 'only those that are well',
    asks: [{ Name: 'acme/gpu/large', Count: 3 }],
    want: undefined,
  },
  { name: 'all of one kind', asks: [{ Name: 'gpu', Count: 3 }], want: undefined },
  {
    name: 'what a constraint allows, across units',
    asks: [
      {
        Name: 'gpu',
        Constraints: [{ LTarget: '${device.attr.memory}', Operand: '<', RTarget: '8192 MiB' }],
      },
    ],
    want: ['s1'],
  },
  {
    name: 'what the affinities like best',
    asks: [
      {
        Name: 'gpu',
        Affinities: [{ LTarget: '${device.model}', RTarget: 'large', Weight: -50 }],
      },
    ],
    want: ['s1'],
  },
  {
    name: 'one ask after the other',
    asks: [{ Name: 'gpu', Count: 2 }, { Name: 'gpu' }],
    want: ['l1', 'l2', 's1'],
  },
  { name: 'of another vendor', asks: [{ Name: 'other/gpu' }], want: undefined },
]
for (const { name, asks, want } of cases)
  test(`devices: ${name}`, () => {
    const { placements, evaluation } = planFor({
      job: jobFor(...asks),
      nodes: [nodeWith(1, small, large)],
    })
    const given = placements[0]?.AllocatedResources.Tasks['main']?.Devices?.flatMap(
      (device) => device.DeviceIDs,
    )
    assert.deepEqual(given, want)
    if (want === undefined)
      assert.deepEqual(evaluation.FailedTGAllocs?.['app']?.ConstraintFiltered, {
        'missing devices': 1,
      })
  })

test('devices: an instance is assigned once and released at the end', () => {
  const job = jobFor({ Name: 'gpu' })
  const other = aJob({ ID: 'other', groups: [aGroup()] })
  const plain = anAllocation({ job: other })
  const main = plain.AllocatedResources.Tasks['main']
  assert.ok(main)
  const held = {
    ...plain,
    AllocatedResources: {
      ...plain.AllocatedResources,
      Tasks: {
        main: {
          ...main,
          Devices: [{ Vendor: 'acme', Type: 'gpu', Name: 'small', DeviceIDs: ['s1', 's2'] }],
        },
      },
    },
  }
  const nodes = [nodeWith(1, small)]
  const full = planFor({ job, nodes, allocations: [held] })
  assert.deepEqual(full.evaluation.FailedTGAllocs?.['app']?.DimensionExhausted, {
    'devices: no devices match request': 1,
  })
  const over = planFor({ job, nodes, allocations: [{ ...held, ClientStatus: 'complete' }] })
  assert.equal(over.placements.length, 1)
})

test('devices: a plan assigns each instance to one allocation', () => {
  const job = aJob({
    groups: [aGroup({ Count: 5, Tasks: [aTask({ Resources: { Devices: [{ Name: 'gpu' }] } })] })],
  })
  const { placements, evaluation } = planFor({ job, nodes: [nodeWith(1, small, large)] })
  const ids = placements.flatMap((row) =>
    (row.AllocatedResources.Tasks['main']?.Devices ?? []).flatMap((device) => device.DeviceIDs),
  )
  assert.deepEqual(ids.toSorted(), ['l1', 'l2', 's1', 's2'])
  assert.deepEqual(evaluation.QueuedAllocations, { app: 1 })
})

test('devices: device affinity is part of the node score', () => {
  const job = jobFor({
    Name: 'gpu',
    Affinities: [{ LTarget: '${device.attr.memory}', Operand: '>', RTarget: '8 GiB', Weight: 80 }],
  })
  const { placements } = planFor({ job, nodes: [nodeWith(1, small), nodeWith(2, large)] })
  assert.equal(placements[0]?.NodeID, anId('node', 2))
  assert.equal(decodeTopScores(placements[0]?.Metrics ?? {})[0]?.[2]?.['devices'], 1)
})
