import { spawn, execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { access } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { BridgeNetwork } from '../../src/agent/network/bridge-network.ts'
import { until } from '../build/until.ts'

/**
 * Runs inside namespaces of its own, see bridge-network.test.ts: makes the network of an allocation
 * for real, reaches a server in it through a port of the machine, and takes it away again. Prints
 * what it found as JSON.
 */
const id = '00000000-0000-4000-8000-000000000001'
const [stateDir = ''] = process.argv.slice(2)
const stateFile = join(stateDir, 'networks.json')
const ports = [{ label: 'http', hostIp: '127.0.0.1', hostPort: 20_001, to: 8_080 }]

/** Some kernels put devices that lead nowhere into every new namespace. */
const UNUSED = /^(ifb|tunl|sit|gre|gretap|erspan|ip_vti|ip6|dummy)/

execFileSync('ip', ['link', 'set', 'lo', 'up'])
const networks = new BridgeNetwork({ stateFile })
const complaint = await networks.probe()
const made = await networks.setUp(id, ports)
const again = await networks.setUp(id, ports)

const program = `require('node:net').createServer((socket) => socket.end('hello')).listen(8080)`
const server = spawn('ip', ['netns', 'exec', id, process.execPath, '-e', program], {
  stdio: 'inherit',
})
const answer = await until('an answer through the port', () => ask(20_001))
server.kill('SIGKILL')
await once(server, 'close')

const hermit = '00000000-0000-4000-8000-000000000002'
await networks.setUpAlone(hermit)
const links: readonly { ifname: string; flags: readonly string[] }[] = JSON.parse(
  execFileSync('ip', ['-n', hermit, '-json', 'link'], { encoding: 'utf8' }),
)
const alone = {
  devices: links.map(({ ifname }) => ifname).filter((name) => !UNUSED.test(name)),
  isUp: links.some(({ ifname, flags }) => ifname === 'lo' && flags.includes('UP')),
}
await networks.tearDown(hermit)

const next = new BridgeNetwork({ stateFile })
await next.open()
const found = next.find(id)
await next.tearDown(id)
await next.tearDown(id)
const isGone = await access(made.namespacePath).then(
  () => false,
  () => true,
)
const rules = execFileSync('nft', ['list', 'table', 'ip', 'reeve'], { encoding: 'utf8' })
const isUnmapped = !rules.includes('20001')
process.stdout.write(
  JSON.stringify({ complaint, made, again, found, answer, alone, isGone, isUnmapped }) + '\n',
)

async function ask(port: number): Promise<string | undefined> {
  const socket = connect(port, '127.0.0.1')
  let text = ''
  socket.on('data', (piece) => (text += piece.toString()))
  const closed = once(socket, 'close')
  await once(socket, 'connect').catch(() => undefined)
  await closed.catch(() => undefined)
  return text === '' ? undefined : text
}
