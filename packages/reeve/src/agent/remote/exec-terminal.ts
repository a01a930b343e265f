import type { Clock } from '@reeve/kit/clock.ts'
import type { StreamSocket } from '@reeve/kit/stream-socket.ts'
import { AGENT_LIMITS } from '../limits.ts'
import type { ExecSession, TerminalSize } from '../task-session.ts'
import { readExecFrame } from './exec-frames.ts'
import { serveExec } from './exec-session.ts'
import { toRemoteError } from './remote-refusal.ts'

interface TerminalOptions {
  readonly clock: Clock
  /** Runs the command in a terminal of this size. */
  readonly start: (size: TerminalSize) => Promise<ExecSession>
}

/**
 * Serves a command in a terminal. The terminal needs its size before the command starts, and the
 * caller sends it in the first frame, so the command starts after the stream; a rejected command
 * closes the stream.
 */
export async function serveTerminal(
  stream: StreamSocket,
  { clock, start }: TerminalOptions,
): Promise<void> {
  const size = await readInitialSize(stream, clock)
  if (stream.isClosed) return
  let session: ExecSession
  try {
    session = await start(size ?? DEFAULT_SIZE)
  } catch (thrown) {
    const { status, message } = toRemoteError(thrown)
    // Close code 1011 for server errors, 1008 for all others.
    return stream.close(status >= 500 ? 1011 : 1008, message)
  }
  await serveExec(stream, session, clock)
}

/** Terminal size if the caller sends none. */
const DEFAULT_SIZE: TerminalSize = { rows: 24, columns: 80 }

/**
 * Terminal size of the first frame; undefined if the frame has none or does not arrive in time. The
 * frame stays in the stream for the next reader.
 */
async function readInitialSize(
  stream: StreamSocket,
  clock: Clock,
): Promise<TerminalSize | undefined> {
  const { promise, resolve } = Promise.withResolvers<Uint8Array | undefined>()
  const cancel = clock.after(AGENT_LIMITS.execTerminalSizeTimeoutMs, () => resolve(undefined))
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
