import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aGroup, aJob, aNode, aTask } from '../../../test/build/index.ts'
import { networkCheck } from './feasibility-rules.ts'

const bridge = { Mode: 'bridge', Device: 'br0', MacAddress: '', Speed: 0, Addresses: null }

/** A node with a bridge and this attribute for containers. */
function nodeThat(access: string) {
  const node = aNode()
  return {
    ...node,
    Attributes: { ...node.Attributes, 'driver.docker.allocation_network': access },
    NodeResources: { ...node.NodeResources, NodeNetworks: [bridge] },
  }
}

const own = { Driver: 'docker', Config: { network_mode: 'own' } }
const cases = [
  { name: 'containers that join by path', mode: 'bridge', access: 'path', says: undefined },
  {
    name: 'containers that join a pause container',
    mode: 'bridge',
    access: 'pause',
    says: undefined,
  },
  {
    name: 'containers that cannot join',
    mode: 'bridge',
    access: 'none',
    says: 'missing network for driver docker',
  },
  { name: 'containers in the network of the host', mode: 'host', access: 'none', says: undefined },
  { name: 'containers without network', mode: 'none', access: 'none', says: undefined },
  {
    name: 'containers with a network of their own',
    mode: 'bridge',
    access: 'none',
    task: own,
    says: undefined,
  },
  {
    name: 'tasks of other drivers',
    mode: 'bridge',
    access: 'none',
    task: { Driver: 'exec' },
    says: undefined,
  },
]
for (const { name, mode, access, task = { Driver: 'docker' }, says } of cases) {
  test(`network of an allocation: ${name} are ${says ?? 'placed'}`, () => {
    const asked = aGroup({ Networks: [{ Mode: mode }], Tasks: [aTask(task)] })
    const [group] = aJob({ TaskGroups: [asked] }).TaskGroups ?? []
    assert.ok(group !== undefined)
    assert.equal(networkCheck(group)?.(nodeThat(access)), says)
  })
}
