import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'

/** For programs that `runInPrivateNetwork` runs: a machine with a neighbour outside. */
export const MACHINE = '10.199.0.1'
export const NEIGHBOUR = '10.199.0.2'
/** The namespace of the neighbour. */
export const OUTSIDE = 'outside'

const servers: ChildProcess[] = []

export function makeMachine(): void {
  sh(`ip link set lo up
ip netns add ${OUTSIDE}
ip link add out0 type veth peer name eth0 netns ${OUTSIDE}
ip addr add ${MACHINE}/24 dev out0
ip link set out0 up
ip -n ${OUTSIDE} addr add ${NEIGHBOUR}/24 dev eth0
ip -n ${OUTSIDE} link set eth0 up`)
}

export function sh(script: string): string {
  return execFileSync('sh', ['-e', '-c', script], { encoding: 'utf8' })
}

/** A server on port 8080 of a namespace that says its name. */
export function serve(namespace: string, name: string): void {
  const program = `require('node:net').createServer((s) => s.end('${name}')).listen(8080)`
  const args = ['netns', 'exec', namespace, process.execPath, '-e', program]
  servers.push(spawn('ip', args, { stdio: 'inherit' }))
}

export async function stopServers(): Promise<void> {
  for (const server of servers) {
    server.kill('SIGKILL')
    await once(server, 'close')
  }
}

export async function ask(host: string, number: number): Promise<string | undefined> {
  const socket = connect(number, host)
  let text = ''
  socket.on('data', (piece) => (text += piece.toString()))
  const closed = once(socket, 'close')
  await once(socket, 'connect').catch(() => undefined)
  await closed.catch(() => undefined)
  return text === '' ? undefined : text
}

/** What a server says to a client in a namespace; empty when it is not reached. */
export function askFrom(namespace: string, host: string, number: number): string {
  const client = `exec 3<>/dev/tcp/${host}/${number} && cat <&3`
  const args = ['netns', 'exec', namespace, 'timeout', '10', 'bash', '-c', client]
  try {
    return execFileSync('ip', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  } catch {
    return ''
  }
}
