import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { HostVolumeRecord, Node } from '@reeve/contract'
import { aNode, anId } from '../../test/build/index.ts'
import { newHostVolume, NO_USAGE } from '../model/index.ts'
import { placeVolume } from './place-volume.ts'

const GIB = 1024 ** 3
const Attributes = { 'plugins.host_volume.mkdir.version': '1.0.0' }

function nodeOf(number: number, fields: Partial<Node> = {}): Node {
  return aNode({ ID: anId('node', number), Attributes, ...fields })
}

function volumeOf(node: number, fields: Partial<HostVolumeRecord> = {}): HostVolumeRecord {
  const volume = newHostVolume({ Name: 'other' }, { id: anId('any', node), origin: 'created' })
  return { ...volume, NodeID: anId('node', node), State: 'ready', ...fields }
}

const cases: readonly {
  readonly name: string
  readonly nodes: readonly Node[]
  readonly volumes?: readonly HostVolumeRecord[]
  /** 100 GB of disk: enough for one volume per node. */
  readonly minBytes?: number
  readonly chosen?: number
  readonly refused?: Readonly<Record<string, number>>
}[] = [
  {
    name: 'the node with the fewest volumes is chosen',
    nodes: [nodeOf(1), nodeOf(2), nodeOf(3)],
    volumes: [volumeOf(1), volumeOf(2), volumeOf(2), volumeOf(1, { Name: 'third' })],
    chosen: 3,
  },
  {
    name: 'of two nodes with as many volumes that with the lowest ID is chosen',
    nodes: [nodeOf(3), nodeOf(1), nodeOf(2)],
    volumes: [volumeOf(1)],
    chosen: 2,
  },
  {
    name: 'volumes that are not made yet count',
    nodes: [nodeOf(1), nodeOf(2)],
    volumes: [volumeOf(1, { State: 'pending' })],
    chosen: 2,
  },
  {
    name: 'a node without room for the volume is not chosen',
    nodes: [nodeOf(1), nodeOf(2)],
    volumes: [volumeOf(1, { CapacityBytes: 60 * GIB }), volumeOf(2), volumeOf(2)],
    minBytes: 50 * GIB,
    chosen: 2,
  },
  {
    name: 'what a pending volume requested is not free',
    nodes: [nodeOf(1)],
    volumes: [volumeOf(1, { State: 'pending', RequestedCapacityMinBytes: 60 * GIB })],
    minBytes: 50 * GIB,
    refused: { 'not enough disk': 1 },
  },
  {
    name: 'the size of a registered directory does not count',
    nodes: [nodeOf(1)],
    volumes: [volumeOf(1, { PluginID: '', CapacityBytes: 10_000 * GIB })],
    minBytes: 50 * GIB,
    chosen: 1,
  },
  {
    name: 'each reason says how many nodes it refused',
    nodes: [nodeOf(1), nodeOf(2), nodeOf(3, { Attributes: {} }), nodeOf(4)],
    volumes: [volumeOf(1, { Name: 'data' }), volumeOf(4, { CapacityBytes: 90 * GIB })],
    minBytes: 98 * GIB,
    refused: {
      'volume name "data" is already in use': 1,
      'not enough disk': 2,
      'missing volume plugin "mkdir"': 1,
    },
  },
]
for (const { name, nodes, volumes = [], minBytes = 0, chosen, refused } of cases)
  test(`volume placement: ${name}`, () => {
    const input = { Name: 'data', RequestedCapacityMinBytes: minBytes }
    const asked = newHostVolume(input, { id: anId('any', 99), origin: 'created' })
    const placement = placeVolume(nodes, asked, {
      volumesOn: (nodeId) => volumes.filter(({ NodeID }) => NodeID === nodeId),
      usageOn: () => NO_USAGE,
    })
    assert.equal(placement.node?.ID, chosen === undefined ? undefined : anId('node', chosen))
    if (placement.node === undefined)
      assert.deepEqual(Object.fromEntries(placement.refused), refused)
  })
