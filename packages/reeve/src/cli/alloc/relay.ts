import type { Socket } from 'node:net'
import { ExecError, type ExecSession } from '@reeve/sdk'
import type { CommandContext } from '../command.ts'
import { systemErrorReason } from '../reason.ts'
import { copyBytes } from './copy.ts'
import { describeExecError } from './session.ts'

export interface RelayTarget {
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
export async function relayConnection(
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
