import { once } from 'node:events'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { ExecError, type ExecSession } from '@reeve/sdk'
import type { CommandContext } from '../command.ts'
import { CommandError, EXIT_CODES, systemErrorReason, UsageError } from '../errors.ts'
import { describeExecError } from './attach.ts'
import { allocationRequest, resolveTask, findAllocation } from './find-allocation.ts'
import { copyBytes } from './streams.ts'

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
function parsePorts(text: string): PortPair {
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

interface RelayTarget {
  readonly allocId: string
  readonly namespace: string
  readonly task: string
  readonly port: number
}

/**
 * Connects standard input and output with a port of the task. The port is passed as an argument,
 * not as script text. `-t` lets socat wait for the response after the end of the request; its
 * default is half a second.
 */
const RELAY_SCRIPT = `
if command -v socat >/dev/null; then exec socat -t 3600 - "TCP:127.0.0.1:$1"; fi
if command -v nc >/dev/null; then exec nc 127.0.0.1 "$1"; fi
if command -v bash >/dev/null; then
  exec bash -c '
    exec 3<>"/dev/tcp/127.0.0.1/$1" 4<&0 || exit 1
    cat <&4 >&3 & cat <&3
    kill $! 2>/dev/null
    exit 0' bash "$1"
fi
echo "the task has none of the programs socat, nc and bash" >&2
exit 127
`

/** Serves one local connection; a failure ends only this connection. */
async function relayConnection(
  { client, output, signal }: CommandContext,
  socket: Socket,
  { port, ...task }: RelayTarget,
): Promise<void> {
  const fail = (reason: string) => output.printNotice(`Connection to port ${port}: ${reason}`)
  // A connection reset by the client needs no report.
  socket.on('error', () => undefined)
  try {
    const command = ['/bin/sh', '-c', RELAY_SCRIPT, 'sh', String(port)]
    const session = await client.exec({ ...task, command, tty: false, signal })
    const problem = await relay(socket, session)
    if (problem !== undefined && !isClosed(socket, signal)) fail(problem)
    socket.destroySoon()
  } catch (thrown) {
    if (!isClosed(socket, signal))
      fail(
        thrown instanceof ExecError ? describeExecError(thrown).message : systemErrorReason(thrown),
      )
    socket.destroy()
  }
}

function isClosed(socket: Socket, signal: AbortSignal): boolean {
  return socket.destroyed || signal.aborted
}

/** Copies in both directions until the task closes the connection. Returns the failure, if any. */
async function relay(socket: Socket, session: ExecSession): Promise<string | undefined> {
  const leave = () => session.close()
  socket.once('close', leave)
  try {
    let errors = ''
    const sending = sendToTask(socket, session)
    await Promise.all([
      copyBytes(session.stdout, (bytes) => writeToSocket(socket, bytes)),
      copyBytes(session.stderr, async (bytes) => {
        if (errors.length < ERRORS_CHARS_MAX) errors += Buffer.from(bytes).toString('utf8')
      }),
      Promise.race([session.exit, rejectionOf(sending)]),
    ])
    const code = await session.exit
    return code === 0 ? undefined : errors.trim() || `refused or lost (exit code ${code}).`
  } finally {
    socket.off('close', leave)
    session.close()
  }
}

/** Rejects if sending fails; never resolves, because the client still waits for the response. */
async function rejectionOf(sending: Promise<void>): Promise<never> {
  await sending
  return await new Promise<never>(() => undefined)
}

const ERRORS_CHARS_MAX = 1_000

/**
 * Sends the client's bytes. Write errors are ignored: when the task stops reading, its output ends
 * soon, which ends the relay.
 */
async function sendToTask(socket: Socket, session: ExecSession): Promise<void> {
  try {
    // The socket must stay writable after all of it has been read.
    for await (const chunk of socket.iterator({ destroyOnReturn: false }))
      await session.stdin.write(chunk)
    await session.stdin.close()
  } catch (thrown) {
    if (!(thrown instanceof ExecError) && !socket.destroyed) throw thrown
  }
}

async function writeToSocket(socket: Socket, bytes: Uint8Array): Promise<void> {
  if (socket.destroyed) return
  await new Promise<void>((resolve) => socket.write(bytes, () => resolve()))
}
