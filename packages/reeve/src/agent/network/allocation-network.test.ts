import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allocationId, anAssignment, pass, turn } from '../../../test/build/agent.ts'
import { aRunner } from '../../../test/build/runner.ts'
import { Fault } from '@reeve/kit/fault.ts'
import type { AllocationNetwork, NetworkManager } from './allocation-network.ts'

/** Networks that only remember what was asked of them. */
function someNetworks(
  own: Partial<AllocationNetwork> = {},
): NetworkManager & { readonly calls: string[] } {
  const calls: string[] = []
  const made = new Map<string, AllocationNetwork>()
  return {
    calls,
    loadState: () => Promise.resolve(),
    probeModes: () => Promise.resolve([{ mode: 'bridge', problem: undefined }]),
    find: (id) => made.get(id),
    setUp: ({ allocationId: id, mode, ports, cniArgs }) => {
      if (mode === 'cni/args') calls.push(JSON.stringify(cniArgs))
      else if (mode !== 'bridge')
        return Promise.reject(new Fault('network', 'this node has no network of the mode'))
      calls.push(`up ${ports.map(({ label }) => label).join()}`)
      const where = { namespacePath: `/ns/${id}`, addressIPv6: '' }
      const network = { ...where, address: '172.30.64.2', interfaceName: 'eth0', ...own }
      made.set(id, network)
      return Promise.resolve(network)
    },
    setUpLoopbackOnly: (id) => {
      calls.push('alone')
      const where = { namespacePath: `/ns/${id}`, addressIPv6: '' }
      const network = { ...where, address: '', interfaceName: '' }
      made.set(id, network)
      return Promise.resolve(network)
    },
    tearDown: (id) => {
      calls.push('down')
      made.delete(id)
      return Promise.resolve()
    },
  }
}

const GROUP_DNS = { Servers: ['10.0.0.53'], Searches: null, Options: null }

function withNetwork(
  Mode: string,
  DNS: typeof GROUP_DNS | null = GROUP_DNS,
  args: Readonly<Record<string, string>> | null = null,
): ReturnType<typeof anAssignment> {
  const network = {
    Mode,
    Device: '',
    CIDR: '',
    IP: '',
    Hostname: 'web-${REEVE_ALLOC_INDEX}',
    MBits: 0,
    DNS,
    ReservedPorts: null,
    DynamicPorts: null,
    CNI: args === null ? null : { Args: args },
  }
  const Ports = [{ Label: 'http', Value: 25_000, To: 8_080, HostIP: '10.0.0.1' }]
  const AllocatedResources = {
    Tasks: {},
    TaskLifecycles: {},
    Shared: { Networks: null, DiskMB: 1, Ports },
  }
  return anAssignment({ group: { Networks: [network] }, allocation: { AllocatedResources } })
}

test('a group with a network of its own gets it before its tasks, and loses it after', async () => {
  const networks = someNetworks()
  const bench = await aRunner(withNetwork('bridge'), { networks })
  assert.deepEqual(networks.calls, ['up http'])
  const launch = bench.driver.running[0]?.launch
  assert.deepEqual(launch?.network, {
    mode: 'bridge',
    namespacePath: `/ns/${allocationId(1)}`,
    hostname: 'web-0',
    hosts: [{ address: '172.30.64.2', names: ['web-0'] }],
    dns: { servers: ['10.0.0.53'], searches: [], options: [] },
    ports: [{ label: 'http', hostIp: '10.0.0.1', hostPort: 25_000, to: 8_080 }],
  })
  assert.equal(launch?.env['REEVE_ALLOC_ADDR_http'], '172.30.64.2:8080')
  assert.deepEqual(bench.runner.currentReport().NetworkStatus, {
    InterfaceName: 'eth0',
    Address: '172.30.64.2',
    AddressIPv6: '',
    DNS: { Servers: ['10.0.0.53'], Searches: null, Options: null },
  })
  await bench.runner.destroy()
  await bench.runner.terminated
  assert.deepEqual(networks.calls, ['up http', 'down'])
  // Not said any more: the servers keep what they were told.
  assert.equal('NetworkStatus' in bench.runner.currentReport(), false)
})

const LEAVES: readonly { readonly mode: string; readonly left: readonly string[] }[] = [
  { mode: 'bridge', left: ['up http', 'down', `left ${allocationId(1)}`] },
  { mode: 'none', left: ['alone', 'down'] },
  { mode: 'host', left: ['down'] },
]
for (const { mode, left } of LEAVES) {
  test(`drivers leave the network of the mode ${mode} after it is gone, if they were in it`, async () => {
    const networks = someNetworks()
    const bench = await aRunner(withNetwork(mode), { networks })
    Object.assign(bench.driver, {
      leaveNetwork: (id: string) => {
        networks.calls.push(`left ${id}`)
        return Promise.reject(new Fault('engine', 'the engine is away'))
      },
    })
    await bench.runner.destroy()
    await bench.runner.terminated
    assert.deepEqual(networks.calls, left)
  })
}

test('a group that does not say resolves names as its network does', async () => {
  const dns = { servers: ['10.7.0.1'], searches: ['own.example'], options: [] }
  const byNetwork = await aRunner(withNetwork('bridge', null), { networks: someNetworks({ dns }) })
  assert.deepEqual(byNetwork.driver.running[0]?.launch.network.dns, dns)
  assert.deepEqual(byNetwork.runner.currentReport().NetworkStatus?.DNS, {
    Servers: ['10.7.0.1'],
    Searches: ['own.example'],
    Options: [],
  })
  const byGroup = await aRunner(withNetwork('bridge'), { networks: someNetworks({ dns }) })
  assert.deepEqual(byGroup.driver.running[0]?.launch.network.dns?.servers, ['10.0.0.53'])
  assert.deepEqual(byGroup.runner.currentReport().NetworkStatus?.DNS, GROUP_DNS)
  await byNetwork.runner.destroy()
  await byGroup.runner.destroy()
})

test('an address of IPv6 alone is reported too', async () => {
  const networks = someNetworks({ address: '', addressIPv6: 'fd00::2' })
  const bench = await aRunner(withNetwork('bridge'), { networks })
  const { NetworkStatus } = bench.runner.currentReport()
  assert.equal(NetworkStatus?.AddressIPv6, 'fd00::2')
  assert.equal(NetworkStatus?.Address, '')
  await bench.runner.destroy()
})

test('a group that wants no network shares one in which it is alone', async () => {
  const networks = someNetworks()
  const bench = await aRunner(withNetwork('none'), { networks })
  const launch = bench.driver.running[0]?.launch
  assert.equal(launch?.network.mode, 'none')
  assert.equal(launch?.network.namespacePath, `/ns/${allocationId(1)}`)
  assert.deepEqual(launch?.network.hosts, [])
  assert.equal('REEVE_ALLOC_IP_http' in (launch?.env ?? {}), false)
  assert.equal('NetworkStatus' in bench.runner.currentReport(), false)
  await bench.runner.destroy()
  await bench.runner.terminated
  assert.deepEqual(networks.calls, ['alone', 'down'])
})

test('a node that cannot keep tasks off its network refuses those that want none', async () => {
  const bench = await aRunner(withNetwork('none'))
  await pass(bench.clock, 10)
  await turn()
  assert.deepEqual(bench.events('web'), ['Received', 'Setup Failure'])
})

for (const mode of ['host', '']) {
  test(`the mode ${JSON.stringify(mode)} needs no network of its own`, async () => {
    const bench = await aRunner(withNetwork(mode))
    const network = bench.driver.running[0]?.launch.network
    assert.equal(network?.mode, mode === '' ? 'host' : mode)
    assert.equal(network?.namespacePath, undefined)
    await bench.runner.destroy()
  })
}

for (const [mode, networks] of [
  ['bridge', undefined],
  ['cni/own', someNetworks()],
] as const) {
  test(`a node without networks of the mode ${mode} refuses the allocation`, async () => {
    const fields = networks === undefined ? {} : { networks }
    const bench = await aRunner(withNetwork(mode), fields)
    await pass(bench.clock, 10)
    await turn()
    assert.deepEqual(bench.events('web'), ['Received', 'Setup Failure'])
    assert.match(
      bench.runner.task('web').state.Events.at(-1)?.SetupError ?? '',
      /this node has no network of the mode/,
    )
  })
}

test('the arguments of CNI plug-ins have their references resolved', async () => {
  const networks = someNetworks()
  const args = {
    plain: 'a b',
    rack: '${meta.rack}',
    place: '${node.datacenter}-${attr.cpu.arch}',
    index: 'n${env["REEVE_ALLOC_INDEX"]}',
    group: '${REEVE_GROUP_NAME}',
    unknown: '${meta.nothing}',
  }
  const { runner } = await aRunner(withNetwork('cni/args', null, args), { networks })
  await turn()
  const [seen = ''] = networks.calls
  assert.deepEqual(JSON.parse(seen), {
    plain: 'a b',
    rack: 'r1',
    place: 'dc1-amd64',
    index: 'n0',
    group: 'group',
    unknown: '${meta.nothing}',
  })
  await runner.shutdown()
})

test('a reference cannot add an argument for CNI plug-ins', async () => {
  const networks = someNetworks()
  const assignment = withNetwork('cni/args', null, { owner: '${REEVE_META_owner}' })
  const hostile = { ...assignment, job: { ...assignment.job, Meta: { owner: 'a;IP=10.0.0.1' } } }
  const { runner } = await aRunner(hostile, { networks })
  await turn()
  assert.deepEqual(networks.calls, ['down'], 'no network was set up')
  const [event] = runner.task('web').state.Events.slice(-1)
  assert.match(event?.DisplayMessage ?? '', /"owner" has a semicolon in its value: "a;IP=10.0.0.1"/)
  await runner.shutdown()
})
