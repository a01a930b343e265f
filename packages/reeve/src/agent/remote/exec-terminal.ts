import type { Clock } from '@reeve/kit/clock.ts'
import type { StreamSocket } from '@reeve/kit/stream-socket.ts'
import { AGENT_LIMITS } from '../limits.ts'
import type { ExecSession, TerminalSize } from '../task-session.ts'
import { readExecFrame } from './exec-frames.ts'
import { serveExec } from './exec-session.ts'
import { remoteError } from './remote-refusal.ts'

interface TerminalOptions {
  readonly clock: Clock
  /** Runs the command in a terminal of this size. */
  readonly start: (size: TerminalSize) => Promise<ExecSession>
}

/**
 * Serves a command in a terminal. The terminal has its size before the command begins. The caller
 * says it in its first frame, so the command begins when the stream has; what is wrong with it
 * closes the stream as a refusal before would have.
 */
export async function serveTerminal(
  stream: StreamSocket,
  { clock, start }: TerminalOptions,
): Promise<void> {
  const size = await firstSize(stream, clock)
  if (stream.isClosed) return
  let session: ExecSession
  try {
    session = await start(size ?? DEFAULT_SIZE)
  } catch (thrown) {
    const { status, message } = remoteError(thrown)
    // What is our fault is 1011, everything else 1008.
    return stream.close(status >= 500 ? 1011 : 1008, message)
  }
  await serveExec(stream, session, clock)
}

/** The size of a terminal whose caller does not say any. */
const DEFAULT_SIZE: TerminalSize = { rows: 24, columns: 80 }

/**
 * The size that the first frame tells; undefined when it tells something else or does not come in
 * time. The frame stays in the stream, for whoever reads it next.
 */
async function firstSize(stream: StreamSocket, clock: Clock): Promise<TerminalSize | undefined> {
  const { promise, resolve } = Promise.withResolvers<Uint8Array | undefined>()
  const cancel = clock.after(AGENT_LIMITS.execSizeMsMax, () => resolve(undefined))
  stream.onClose(() => resolve(undefined))
  stream.onMessage((data, isText) => {
    stream.detach()
    stream.handleMessage(data, isText)
    resolve(data)
  })
  const data = await promise.finally(cancel)
  stream.detach()
  const frame = data === undefined ? undefined : readExecFrame(data)
  return frame?.ok === true ? frame.value.size : undefined
}
