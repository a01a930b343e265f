import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { BridgeNetwork } from '../../src/agent/network/bridge-network.ts'
import { toBridgeSettings } from '../../src/agent/network/firewall.ts'
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
 * Runs inside namespaces of its own, see bridge-network.test.ts: a machine that drops what it
 * forwards, with a neighbour outside, and allocations that serve their names on port 8080. Prints
 * what was reached from where as JSON.
 */
const [stateDir = ''] = process.argv.slice(2)
const FIRST = '00000000-0000-4000-8000-000000000001'
const SECOND = '00000000-0000-4000-8000-000000000002'
const ALONE = '00000000-0000-4000-8000-000000000003'
const THIRD = '00000000-0000-4000-8000-000000000004'

/** Some kernels put devices that lead nowhere into every new namespace. */
const UNUSED = /^(ifb|tunl|sit|gre|gretap|erspan|ip_vti|ip6|dummy)/

const settings = toBridgeSettings({ name: 'reeve0', subnet: '172.30.64.0/20', hairpin: true })

makeMachine()
sh('iptables -P FORWARD DROP')
const filterBefore = sh('iptables -S')
const networks = aBridge()
const offers = await networks.probeModes()
const first = await networks.setUp(
  request(FIRST, [port('127.0.0.1', 20_001), port(MACHINE, 20_003)]),
)
const again = await networks.setUp(request(FIRST, []))
const second = await networks.setUp(
  request(SECOND, [port(MACHINE, 20_002), port('127.0.0.1', 20_003), port('0.0.0.0', 20_004)]),
)
serve(FIRST, 'first')
serve(SECOND, 'second')
serve(OUTSIDE, 'neighbour')
await until('an answer through the port', () => ask('127.0.0.1', 20_001))
await until('an answer of the second', () => ask(MACHINE, 20_002))
await until('an answer of the neighbour', () => ask(NEIGHBOUR, 8_080))
const reached = {
  loopbackPort: await ask('127.0.0.1', 20_001),
  loopbackPortFromOutside: askFrom(OUTSIDE, MACHINE, 20_001),
  machinePortFromOutside: askFrom(OUTSIDE, MACHINE, 20_002),
  samePortOnLoopback: await ask('127.0.0.1', 20_003),
  samePortFromOutside: askFrom(OUTSIDE, MACHINE, 20_003),
  everyAddress: await ask('127.0.0.1', 20_004),
  everyAddressFromOutside: askFrom(OUTSIDE, MACHINE, 20_004),
  outsideFromAllocation: askFrom(FIRST, NEIGHBOUR, 8_080),
  siblingFromAllocation: askFrom(FIRST, second.address, 8_080),
  loopbackPortByIPv6: await until('an answer by IPv6', () => ask('::1', 20_001)),
  itselfByItsPort: askFrom(SECOND, MACHINE, 20_002),
}

await networks.setUpLoopbackOnly(ALONE)
const links: readonly { ifname: string; flags: readonly string[] }[] = JSON.parse(
  sh(`ip -n ${ALONE} -json link`),
)
const alone = {
  devices: links.map(({ ifname }) => ifname).filter((name) => !UNUSED.test(name)),
  isUp: links.some(({ ifname, flags }) => ifname === 'lo' && flags.includes('UP')),
}

// As a reload of the machine's firewall does.
sh('nft flush ruleset && iptables -P FORWARD DROP')
await networks.setUp(request(THIRD, [port(MACHINE, 20_005)]))
const [bridge]: readonly { address: string }[] = JSON.parse(sh('ip -json link show reeve0'))
const afterFlush = {
  former: askFrom(OUTSIDE, MACHINE, 20_002),
  outsideFromAllocation: askFrom(FIRST, NEIGHBOUR, 8_080),
}

await stopServers()
const next = aBridge()
await next.loadState()
const found = next.find(FIRST)
for (const id of [FIRST, SECOND, THIRD, ALONE, FIRST]) await next.tearDown(id)
const isGone = await access(first.namespacePath).then(
  () => false,
  () => true,
)
const isUnmapped = !/2000\d/.test(sh('nft list table ip reeve'))
const isFilterRestored = sh('iptables -S') === filterBefore
const ended = { isGone, isUnmapped, isFilterRestored }
process.stdout.write(
  JSON.stringify({ offers, first, again, found, reached, alone, bridge, afterFlush, ended }) + '\n',
)

function aBridge(): BridgeNetwork {
  return new BridgeNetwork({
    stateFile: join(stateDir, 'networks.json'),
    settings,
    log: SILENT_LOG,
  })
}

function port(hostIp: string, hostPort: number) {
  return { label: 'http', hostIp, hostPort, to: 8_080 }
}

function request(allocationId: string, ports: readonly ReturnType<typeof port>[]) {
  return { allocationId, mode: 'bridge', ports, cniArgs: {} }
}
