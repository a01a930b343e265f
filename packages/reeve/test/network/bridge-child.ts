import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { access } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { BridgeNetwork } from '../../src/agent/network/bridge-network.ts'
import { bridgeSettings } from '../../src/agent/network/bridge-rules.ts'
import { SILENT_LOG } from '../build/agent.ts'
import { until } from '../build/until.ts'

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
const MACHINE = '10.199.0.1'
const NEIGHBOUR = '10.199.0.2'
const OUTSIDE = 'outside'

/** Some kernels put devices that lead nowhere into every new namespace. */
const UNUSED = /^(ifb|tunl|sit|gre|gretap|erspan|ip_vti|ip6|dummy)/

const settings = bridgeSettings({ name: 'reeve0', subnet: '172.30.64.0/20', hairpin: true })
const servers: ChildProcess[] = []

makeMachine()
const filterBefore = sh('iptables -S')
const networks = aBridge()
const offers = await networks.probe()
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

await networks.setUpAlone(ALONE)
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
const afterFlush = {
  former: askFrom(OUTSIDE, MACHINE, 20_002),
  outsideFromAllocation: askFrom(FIRST, NEIGHBOUR, 8_080),
}

for (const server of servers) {
  server.kill('SIGKILL')
  await once(server, 'close')
}
const next = aBridge()
await next.open()
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
  JSON.stringify({ offers, first, again, found, reached, alone, afterFlush, ended }) + '\n',
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

function makeMachine(): void {
  sh(`ip link set lo up
ip netns add ${OUTSIDE}
ip link add out0 type veth peer name eth0 netns ${OUTSIDE}
ip addr add ${MACHINE}/24 dev out0
ip link set out0 up
ip -n ${OUTSIDE} addr add ${NEIGHBOUR}/24 dev eth0
ip -n ${OUTSIDE} link set eth0 up
iptables -P FORWARD DROP`)
}

function sh(script: string): string {
  return execFileSync('sh', ['-e', '-c', script], { encoding: 'utf8' })
}

/** A server on port 8080 of a namespace that says its name. */
function serve(namespace: string, name: string): void {
  const program = `require('node:net').createServer((s) => s.end('${name}')).listen(8080)`
  const args = ['netns', 'exec', namespace, process.execPath, '-e', program]
  servers.push(spawn('ip', args, { stdio: 'inherit' }))
}

async function ask(host: string, number: number): Promise<string | undefined> {
  const socket = connect(number, host)
  let text = ''
  socket.on('data', (piece) => (text += piece.toString()))
  const closed = once(socket, 'close')
  await once(socket, 'connect').catch(() => undefined)
  await closed.catch(() => undefined)
  return text === '' ? undefined : text
}

/** What a server says to a client in a namespace; empty when it is not reached. */
function askFrom(namespace: string, host: string, number: number): string {
  const client = `exec 3<>/dev/tcp/${host}/${number} && cat <&3`
  const args = ['netns', 'exec', namespace, 'timeout', '10', 'bash', '-c', client]
  try {
    return execFileSync('ip', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  } catch {
    return ''
  }
}
