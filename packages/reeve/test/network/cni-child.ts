import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CniNetworks } from '../../src/agent/network/cni/cni-networks.ts'
import { SILENT_LOG } from '../build/agent.ts'
import { until } from '../build/until.ts'
import {
  ask,
  askFrom,
  MACHINE,
  makeMachine,
  NEIGHBOUR,
  OUTSIDE,
  serve,
  sh,
  stopServers,
} from './machine.ts'

/**
 * Runs inside namespaces of its own, see cni-plugins.test.ts: an allocation that serves its name on
 * port 8080 in a network of the standard plug-ins. Prints what was reached from where as JSON.
 */
const [stateDir = '', pluginsDir = ''] = process.argv.slice(2)
const ID = '00000000-0000-4000-8000-000000000001'
const SUBNET = '10.198.0.0/24'
const configDirectory = join(stateDir, 'config')
const leasesDir = join(stateDir, 'leases')

makeMachine()
await mkdir(configDirectory)
await writeFile(
  join(configDirectory, 'own.conflist'),
  JSON.stringify({
    cniVersion: '1.0.0',
    name: 'own',
    plugins: [
      {
        type: 'bridge',
        bridge: 'cni7',
        isGateway: true,
        ipMasq: true,
        ipam: {
          type: 'host-local',
          ranges: [[{ subnet: SUBNET }]],
          routes: [{ dst: '0.0.0.0/0' }],
          dataDir: leasesDir,
        },
      },
      { type: 'portmap', capabilities: { portMappings: true }, snat: true },
    ],
  }),
)
const networks = aCni()
await networks.loadState()
const offers = await networks.probeModes()
const network = await networks.setUp({
  allocationId: ID,
  mode: 'cni/own',
  ports: [
    { label: 'http', hostIp: MACHINE, hostPort: 20_001, to: 8_080 },
    { label: 'admin', hostIp: '127.0.0.1', hostPort: 20_002, to: 8_080 },
  ],
  cniArgs: {},
})
serve(ID, 'allocation')
serve(OUTSIDE, 'neighbour')
await until('an answer of the allocation', () => ask(network.address, 8_080))
await until('an answer of the neighbour', () => ask(NEIGHBOUR, 8_080))
const reached = {
  fromOutside: askFrom(OUTSIDE, MACHINE, 20_001),
  loopback: await ask('127.0.0.1', 20_002),
  loopbackFromOutside: askFrom(OUTSIDE, MACHINE, 20_002),
  outsideFromAllocation: askFrom(ID, NEIGHBOUR, 8_080),
}
const given = await leftovers()

await stopServers()
// The next agent removes what this one set up.
const next = aCni()
await next.loadState()
const found = next.find(ID)
await next.tearDown(ID)
const ended = await leftovers()
process.stdout.write(JSON.stringify({ offers, network, found, reached, given, ended }) + '\n')

/** Everything on the machine that is of the allocation. */
async function leftovers() {
  const mapped = sh('iptables -t nat -S').match(/--dports? 2000\d/g) ?? []
  return {
    namespaces: (await readdir('/run/netns')).filter((name) => name !== OUTSIDE),
    leases: (await readdir(join(leasesDir, 'own'))).filter((name) => name.startsWith('10.')),
    devices: sh('ip -o link show master cni7').split('\n').length - 1,
    isMapped: mapped.length > 0,
    records: (await readdir(join(stateDir, 'records'))).length,
  }
}

function aCni(): CniNetworks {
  return new CniNetworks({
    settings: { configDirectory, pluginDirectories: [pluginsDir] },
    recordsDir: join(stateDir, 'records'),
    log: SILENT_LOG,
  })
}
