import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NetworkManager } from './allocation-network.ts'
import { NodeNetworks } from './node-networks.ts'

/** Remembers what was asked of it, and knows the allocation of its own name. */
function someNetworks(name: string, calls: string[]): NetworkManager {
  const network = { namespacePath: name, address: '', addressIPv6: '', interfaceName: '' }
  const called = <T>(call: string, value: T): Promise<T> => {
    calls.push(`${name} ${call}`)
    return Promise.resolve(value)
  }
  return {
    loadState: () => called('open', undefined),
    probeModes: () => called('probe', [{ mode: name, problem: undefined }]),
    setUp: ({ mode }) => called(`up ${mode}`, network),
    setUpLoopbackOnly: () => called('alone', network),
    find: (id) => (id === name ? network : undefined),
    tearDown: () => called('down', undefined),
  }
}

test('each mode is served by its provider; both are opened, probed and asked to remove', async () => {
  const calls: string[] = []
  const networks = new NodeNetworks({
    bridge: someNetworks('bridge', calls),
    cni: someNetworks('cni', calls),
  })
  const request = { allocationId: 'a', ports: [], cniArgs: {} }
  await networks.loadState()
  assert.deepEqual(
    (await networks.probeModes()).map(({ mode }) => mode),
    ['bridge', 'cni'],
  )
  await networks.setUp({ ...request, mode: 'bridge' })
  await networks.setUp({ ...request, mode: 'cni/own' })
  await networks.setUpLoopbackOnly('a')
  await networks.tearDown('a')
  assert.deepEqual(calls, [
    'bridge open',
    'cni open',
    'bridge probe',
    'cni probe',
    'bridge up bridge',
    'cni up cni/own',
    'bridge alone',
    'bridge down',
    'cni down',
  ])
  assert.equal(networks.find('bridge')?.namespacePath, 'bridge')
  assert.equal(networks.find('cni')?.namespacePath, 'cni')
  assert.equal(networks.find('other'), undefined)
  await assert.rejects(networks.setUp({ ...request, mode: 'other' }), {
    kind: 'network',
    message: 'this node has no network of the mode "other"',
  })
})
