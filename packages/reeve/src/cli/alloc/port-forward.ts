import { once } from 'node:events'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { CommandError, UsageError } from '../failure.ts'
import { systemErrorReason } from '../reason.ts'
import { allocationRequest, resolveTask, findAllocation } from './find-allocation.ts'
import { relayConnection, type RelayTarget } from './relay.ts'

const LOOPBACK = '127.0.0.1'

/**
 * Maximum number of connections: each is an exec session, and the server limits sessions per token.
 */
const CONNECTIONS_MAX = 64

/** `alloc port-forward`: connects local ports to ports of a task until Ctrl-C. */
export async function runAllocPortForward(invocation: CommandContext): Promise<number> {
  const { args, flags, output, signal } = invocation
  const [given = '', ...texts] = args
  const pairs = texts.map(parsePorts)
  const allocation = await findAllocation(invocation, given)
  const task = resolveTask(allocation, flags.string('task'))
  const { params, query } = allocationRequest(allocation)
  const target = { allocId: params.alloc_id, namespace: query.namespace, task }
  const forwards: Forward[] = []
  try {
    for (const { local, remote } of pairs) {
      const forward = await startForward(invocation, local, { ...target, port: remote })
      forwards.push(forward)
      output.printLine(
        `Forwarding ${LOOPBACK}:${forward.port} to port ${remote} of task "${task}" in ${allocation.Name}.`,
      )
    }
    if (!signal.aborted) await once(signal, 'abort')
  } finally {
    for (const forward of forwards) forward.stop()
  }
  return EXIT_CODES.interrupted
}

interface PortPair {
  /** 0 selects any free port. */
  readonly local: number
  readonly remote: number
}

/** `80`, `8080:80` or `:80`. */
export function parsePorts(text: string): PortPair {
  const [, local, remote] = /^(?:(\d{0,5}):)?(\d{1,5})$/.exec(text) ?? []
  const pair = { local: Number(local ?? remote ?? NaN), remote: Number(remote ?? NaN) }
  const isValid = pair.local <= PORT_MAX && pair.remote >= 1 && pair.remote <= PORT_MAX
  if (isValid) return pair
  throw new UsageError(`"${text}" is not PORT, LOCAL:REMOTE or :REMOTE with ports up to 65535.`)
}

const PORT_MAX = 65_535

interface Forward {
  readonly port: number
  stop(): void
}

async function startForward(
  invocation: CommandContext,
  localPort: number,
  target: RelayTarget,
): Promise<Forward> {
  const sockets = new Set<Socket>()
  // Half-open: a client that has sent its request may still read the reply.
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    void relayConnection(invocation, socket, target)
  })
  server.maxConnections = CONNECTIONS_MAX
  return {
    port: await listen(server, localPort),
    stop() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

async function listen(server: Server, local: number): Promise<number> {
  try {
    server.listen(local, LOOPBACK)
    await once(server, 'listening')
  } catch (thrown) {
    throw new CommandError(`Cannot listen on ${LOOPBACK}:${local}: ${systemErrorReason(thrown)}.`, {
      hint: 'Use another local port, as in 8080:80, or :80 for a free one.',
    })
  }
  // Proof: a server that listens on a TCP port has an address with a port.
  return (server.address() as AddressInfo).port
}
