import type { Socket } from 'node:net'
import { ExecError, type ExecSession } from '@reeve/sdk'
import type { Invocation } from '../command.ts'
import { reasonOf } from '../reason.ts'
import { copyBytes } from './copy.ts'
import { refusalOf } from './session.ts'

export interface RelayTarget {
  readonly allocId: string
  readonly namespace: string
  readonly task: string
  readonly port: number
}

/**
 * Connects standard input and output with a port of the task; the port is an argument, never part
 * of the script. socat waits for the reply after the end of the request, by default half a second.
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
export async function relayConnection(
  { client, output, signal }: Invocation,
  socket: Socket,
  { port, ...task }: RelayTarget,
): Promise<void> {
  const fail = (reason: string) => output.note(`Connection to port ${port}: ${reason}`)
  // A client that resets its connection has left; nobody needs to know.
  socket.on('error', () => undefined)
  try {
    const command = ['/bin/sh', '-c', RELAY_SCRIPT, 'sh', String(port)]
    const session = await client.exec({ ...task, command, tty: false, signal })
    const problem = await relay(socket, session)
    if (problem !== undefined && !hasLeft(socket, signal)) fail(problem)
    socket.destroySoon()
  } catch (thrown) {
    if (!hasLeft(socket, signal))
      fail(thrown instanceof ExecError ? refusalOf(thrown).message : reasonOf(thrown))
    socket.destroy()
  }
}

function hasLeft(socket: Socket, signal: AbortSignal): boolean {
  return socket.destroyed || signal.aborted
}

/** Copies in both directions until the task closes; returns why it failed, if it did. */
async function relay(socket: Socket, session: ExecSession): Promise<string | undefined> {
  const leave = () => session.close()
  socket.once('close', leave)
  try {
    let errors = ''
    const sending = send(socket, session)
    await Promise.all([
      copyBytes(session.stdout, (bytes) => written(socket, bytes)),
      copyBytes(session.stderr, async (bytes) => {
        if (errors.length < ERRORS_CHARS_MAX) errors += Buffer.from(bytes).toString('utf8')
      }),
      Promise.race([session.exit, failureOf(sending)]),
    ])
    const code = await session.exit
    return code === 0 ? undefined : errors.trim() || `refused or lost (exit code ${code}).`
  } finally {
    socket.off('close', leave)
    session.close()
  }
}

/** Never resolves: a client that has sent everything still waits for the reply. */
async function failureOf(sending: Promise<void>): Promise<never> {
  await sending
  return await new Promise<never>(() => undefined)
}

const ERRORS_CHARS_MAX = 1_000

/** A task that no longer reads ends its output soon, which ends the relay. */
async function send(socket: Socket, session: ExecSession): Promise<void> {
  try {
    // The socket is still written to when all of it has been read.
    for await (const chunk of socket.iterator({ destroyOnReturn: false }))
      await session.stdin.write(chunk)
    await session.stdin.close()
  } catch (thrown) {
    if (!(thrown instanceof ExecError) && !socket.destroyed) throw thrown
  }
}

async function written(socket: Socket, bytes: Uint8Array): Promise<void> {
  if (socket.destroyed) return
  await new Promise<void>((resolve) => socket.write(bytes, () => resolve()))
}
