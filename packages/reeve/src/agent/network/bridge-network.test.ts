import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { allocationId, SILENT_LOG } from '../../../test/build/agent.ts'
import { temporaryDirectory } from '../../../test/build/temporary-directory.ts'
import { runInPrivateNetwork, whyNoPrivateNetwork } from '../../../test/network/private-network.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { BridgeNetwork } from './bridge-network.ts'
import { droppingChains, portMapCommands, toBridgeSettings } from './firewall.ts'
import { relayRoutes } from './loopback-relay.ts'

const PORT = { label: 'http', hostIp: '10.0.0.1', hostPort: 20_001, to: 0 }
const REQUEST = { allocationId: allocationId(1), mode: 'bridge', ports: [PORT], cniArgs: {} }

test('allocations reach and are reached on a machine that drops what it forwards', async (t) => {
  const reason = whyNoPrivateNetwork()
  if (reason !== undefined) {
    t.skip(reason)
    return
  }
  const stateDir = await temporaryDirectory(t)
  const child = new URL('../../../test/network/bridge-child.ts', import.meta.url)
  const found = runInPrivateNetwork(child, stateDir)
  assert.deepEqual(found.offers, [{ mode: 'bridge' }])
  assert.equal(found.first.address, '172.30.64.2')
  assert.deepEqual(found.again, found.first)
  assert.deepEqual(found.found, found.first)
  assert.deepEqual(found.reached, {
    loopbackPort: 'first',
    loopbackPortFromOutside: '',
    machinePortFromOutside: 'second',
    samePortOnLoopback: 'second',
    samePortFromOutside: 'first',
    everyAddress: 'second',
    everyAddressFromOutside: 'second',
    outsideFromAllocation: 'neighbour',
    siblingFromAllocation: 'second',
    loopbackPortByIPv6: 'first',
    itselfByItsPort: 'second',
  })
  assert.deepEqual(found.alone, { devices: ['lo'], isUp: true })
  // However many ports have joined: allocations know the gateway by it.
  assert.equal(found.bridge.address, '02:72:ac:1e:40:01')
  assert.deepEqual(found.afterFlush, { former: 'second', outsideFromAllocation: 'neighbour' })
  assert.deepEqual(found.ended, { isGone: true, isUnmapped: true, isFilterRestored: true })
})

/** Tools that only remember what they were asked, up to the words that make them fail. */
async function recorded(
  t: TestContext,
  failing = '',
): Promise<{ networks: BridgeNetwork; calls: string[]; dir: string }> {
  const dir = await temporaryDirectory(t)
  const calls: string[] = []
  const networks = new BridgeNetwork({
    stateFile: join(dir, 'networks.json'),
    namespacesDir: dir,
    settings: toBridgeSettings({ name: 'reeve0', subnet: '172.30.64.0/20', hairpin: false }),
    log: SILENT_LOG,
    run: async (program, args, input = '') => {
      const call = `${program} ${args.join(' ')} ${input}`
      calls.push(call)
      if (failing !== '' && call.includes(failing)) throw new Fault('network', 'it failed')
      if (args[0] === 'netns' && args[1] === 'add') await mkdir(join(dir, args[2] ?? ''))
      return ''
    },
  })
  return { networks, calls, dir }
}

test('a failed setup is rolled back', async (t) => {
  const { networks, calls } = await recorded(t, 'link add reeve0')
  await assert.rejects(networks.setUp(REQUEST), { kind: 'network' })
  assert.equal(networks.find(allocationId(1)), undefined)
  assert.ok(calls.some((call) => call.startsWith(`ip netns delete ${allocationId(1)}`)))
})

test('a damaged state file stops the agent instead of giving addresses out twice', async (t) => {
  const { networks, dir } = await recorded(t)
  await writeFile(join(dir, 'networks.json'), '{"leases":{"x":{"address":1}}}')
  await assert.rejects(networks.loadState(), { kind: 'agent-state' })
})

test('an element names the port inside, which is the same when nothing else is said', () => {
  const ports = [PORT, { ...PORT, hostIp: '0.0.0.0', hostPort: 1, to: 80 }]
  assert.equal(
    portMapCommands('add', '172.30.64.9', ports),
    [
      'add element ip reeve host_tcp { 10.0.0.1 . 20001 : 172.30.64.9 . 20001 }',
      'add element ip reeve any_tcp { 1 : 172.30.64.9 . 80 }',
      'add element ip reeve host_udp { 10.0.0.1 . 20001 : 172.30.64.9 . 20001 }',
      'add element ip reeve any_udp { 1 : 172.30.64.9 . 80 }',
      '',
    ].join('\n'),
  )
})

test('a port of an IPv6 address has no element', () => {
  assert.equal(portMapCommands('add', '172.30.64.9', [{ ...PORT, hostIp: 'fd00::1' }]), '')
})

const CHAINS = [
  { family: 'ip', table: 'filter', name: 'FORWARD', hook: 'forward', policy: 'drop' },
  { family: 'inet', table: 'own', name: 'transit', hook: 'forward', policy: 'drop' },
  { family: 'inet', table: 'own', name: 'open', hook: 'forward', policy: 'accept' },
  { family: 'ip6', table: 'filter', name: 'FORWARD', hook: 'forward', policy: 'drop' },
  { family: 'inet', table: 'own', name: 'input', hook: 'input', policy: 'drop' },
  { family: 'inet', table: 'own', name: 'called' },
]

test('chains that drop forwarded packets are found, except that of iptables', () => {
  const listing = { nftables: [{ metainfo: {} }, ...CHAINS.map((chain) => ({ chain }))] }
  assert.deepEqual(droppingChains(JSON.stringify(listing)), ['inet own transit'])
  assert.deepEqual(droppingChains('{}'), [])
})

const ROUTES = [
  { name: 'granted on loopback', hostIp: '127.0.0.1', hosts: ['::1'] },
  { name: 'granted on every address', hostIp: '0.0.0.0', hosts: ['::1'] },
  { name: 'granted on an address of IPv6', hostIp: 'fd00::1', hosts: ['fd00::1'] },
  { name: 'granted on an address of IPv4', hostIp: '10.0.0.1', hosts: [] },
]
for (const { name, hostIp, hosts } of ROUTES) {
  test(`a port ${name} is relayed on ${hosts.join() || 'no address of IPv6'}`, () => {
    const lease = { address: '172.30.64.9', ports: [{ ...PORT, hostIp, to: 80 }] }
    const target = { port: 20_001, targetHost: '172.30.64.9', targetPort: 80 }
    assert.deepEqual(
      relayRoutes(lease),
      hosts.map((host) => ({ host, ...target })),
    )
  })
}
