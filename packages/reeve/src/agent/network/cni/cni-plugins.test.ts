import assert from 'node:assert/strict'
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryDirectory } from '../../../../test/build/temporary-directory.ts'
import {
  runInPrivateNetwork,
  whyNoPrivateNetwork,
} from '../../../../test/network/private-network.ts'

const ID = '00000000-0000-4000-8000-000000000001'
const DIRECTORIES = ['/usr/lib/cni', '/opt/cni/bin', '/usr/libexec/cni']

async function findPlugins(): Promise<string | undefined> {
  for (const directory of DIRECTORIES) {
    const wanted = ['bridge', 'host-local', 'portmap'].map((name) => access(join(directory, name)))
    const found = await Promise.allSettled(wanted)
    if (found.every(({ status }) => status === 'fulfilled')) return directory
  }
  return undefined
}

test('the standard plug-ins connect an allocation, map its ports, and leave nothing', async (t) => {
  const pluginsDir = await findPlugins()
  const reason =
    pluginsDir === undefined
      ? `the CNI plug-ins are in none of ${DIRECTORIES.join(', ')}`
      : whyNoPrivateNetwork()
  if (pluginsDir === undefined || reason !== undefined) {
    t.skip(reason)
    return
  }
  const stateDir = await temporaryDirectory(t)
  const child = new URL('../../../../test/network/cni-child.ts', import.meta.url)
  const found = runInPrivateNetwork(child, stateDir, pluginsDir)
  assert.deepEqual(found.offers, [{ mode: 'cni/own' }])
  assert.deepEqual(found.network, {
    namespacePath: `/run/netns/${ID}`,
    address: '10.198.0.2',
    addressIPv6: '',
    interfaceName: 'eth0',
  })
  assert.deepEqual(found.found, found.network)
  assert.deepEqual(found.reached, {
    fromOutside: 'allocation',
    loopback: 'allocation',
    loopbackFromOutside: '',
    outsideFromAllocation: 'neighbour',
  })
  assert.deepEqual(found.given, {
    namespaces: [ID],
    leases: ['10.198.0.2'],
    devices: 1,
    isMapped: true,
    records: 1,
  })
  assert.deepEqual(found.ended, {
    namespaces: [],
    leases: [],
    devices: 0,
    isMapped: false,
    records: 0,
  })
})
