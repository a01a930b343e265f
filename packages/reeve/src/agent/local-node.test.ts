import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NODE_ID, SILENT_LOG } from '../../test/build/agent.ts'
import { aNode } from '../../test/build/node.ts'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'
import { Fault } from '@reeve/kit/fault.ts'
import type { NetworkModeStatus } from './network/allocation-network.ts'
import { LocalNode } from './local-node.ts'

const RESOURCES = { ...aNode().NodeResources, NodeNetworks: null }
const BRIDGE: NetworkModeStatus = { mode: 'bridge', problem: undefined }
const SHOP: NetworkModeStatus = { mode: 'cni/shop', problem: undefined }

/** A node whose networks are those that the test says, as they are when it is probed. */
function aDescription(networks: { offers: readonly NetworkModeStatus[] | Fault }) {
  const logged: unknown[] = []
  const never = (): never => assert.fail('nothing is set up here')
  const node = new LocalNode({
    settings: {
      Name: 'node-1',
      Region: 'global',
      Datacenter: 'dc1',
      NodePool: 'default',
      NodeClass: '',
      HTTPAddr: '',
      TLSEnabled: false,
      Meta: {},
      HostVolumes: null,
      ReservedResources: aNode().ReservedResources,
    },
    drivers: [],
    networks: {
      loadState: () => Promise.resolve(),
      probeModes: () => {
        const { offers } = networks
        return offers instanceof Fault ? Promise.reject(offers) : Promise.resolve(offers)
      },
      setUp: never,
      setUpLoopbackOnly: never,
      find: never,
      tearDown: never,
    },
    clock: new SimulatedClock(),
    log: { ...SILENT_LOG, info: (fields) => logged.push(fields) },
    fingerprintMachine: () => Promise.resolve({ Attributes: {}, NodeResources: RESOURCES }),
    meta: () => ({}),
    nodeId: () => NODE_ID,
    volumes: {
      probe: () => Promise.resolve(),
      attributes: () => ({}),
      hostVolumes: () => ({}),
    },
    region: () => 'global',
  })
  const modes = () => (node.registration().NodeResources.NodeNetworks ?? []).map(({ Mode }) => Mode)
  return { node, logged, modes }
}

test('a network that is configured while the agent runs is offered, and no longer once removed', async () => {
  const networks: { offers: readonly NetworkModeStatus[] | Fault } = { offers: [BRIDGE] }
  const { node, modes } = aDescription(networks)
  await node.fingerprintAll()
  assert.deepEqual(modes(), ['bridge'])
  assert.equal(await node.refresh(), undefined)
  networks.offers = [BRIDGE, SHOP]
  assert.notEqual(await node.refresh(), undefined)
  assert.deepEqual(modes(), ['bridge', 'cni/shop'])
  networks.offers = new Fault('network', 'the directory cannot be read')
  assert.equal(await node.refresh(), undefined)
  assert.deepEqual(modes(), ['bridge', 'cni/shop'])
  networks.offers = [BRIDGE]
  assert.notEqual(await node.refresh(), undefined)
  assert.deepEqual(modes(), ['bridge'])
})

test('a network that cannot be offered is logged once for each reason', async () => {
  const problem = 'the plug-in "macvlan" is missing'
  const networks = { offers: [{ mode: 'cni/shop', problem }] }
  const { node, logged, modes } = aDescription(networks)
  await node.fingerprintAll()
  await node.refresh()
  assert.deepEqual(logged, [{ mode: 'cni/shop', reason: problem }])
  networks.offers = [{ mode: 'cni/shop', problem: 'the file is no JSON' }]
  await node.refresh()
  assert.deepEqual([logged.length, modes()], [2, []])
})
