import type { Readable } from 'node:stream'
import { Compile } from 'typebox/compile'
import { ExecRequestFrame, type ExecResponseFrame } from '@reeve/contract'
import { isBase64 } from '@reeve/kit/base64.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { errorMessage, Fault } from '@reeve/kit/fault.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { StreamSocket } from '@reeve/kit/stream-socket.ts'
import { LIMITS } from '../../model/index.ts'
import { AGENT_LIMITS } from '../limits.ts'
import type { ExecRequest, ExecSession, TerminalSize } from '../driver.ts'
import type { TaskControl } from '../task/task-control.ts'
import { sleep } from '../timing.ts'
import { toRemoteError } from './remote-refusal.ts'

/**
 * Connects the streams of a command to the frames of its caller, with backpressure in both
 * directions. Resolves when the session ends; all output is sent before the exit frame.
 */
export async function serveExec(
  stream: StreamSocket,
  session: ExecSession,
  clock: Clock,
): Promise<void> {
  const { promise: callerLeft, resolve: resolveLeft } = Promise.withResolvers<void>()
  const heartbeat = new Heartbeat(stream, clock)
  stream.onClose(() => {
    heartbeat.stop()
    // A disconnected caller ends the command, not the task.
    session.hangUp()
    resolveLeft()
  })
  // A command that has ended or closed its input accepts no more data; this is no error.
  session.stdin.on('error', () => undefined)
  stream.onMessage((data) => {
    heartbeat.onFrame()
    const frame = readExecFrame(data)
    if (frame.ok) handleInput(stream, session, frame.value)
    else stream.close(1008, frame.error)
  })
  const output = Promise.all([
    forwardOutput(stream, session.stdout, 'stdout'),
    forwardOutput(stream, session.stderr, 'stderr'),
    session.exited,
  ])
  await Promise.race([output.then(([, , exitCode]) => sendExit(stream, exitCode)), callerLeft])
}

function sendExit(stream: StreamSocket, exitCode: number): void {
  stream.send(exitFrame(exitCode))
  stream.close(1000)
}

function handleInput(stream: StreamSocket, session: ExecSession, frame: ExecInput): void {
  const { stdin } = session
  if (frame.size !== undefined) session.resize(frame.size)
  if (stdin.writableEnded || stdin.destroyed) return
  const isFull = frame.stdin !== undefined && !stdin.write(frame.stdin)
  // A paused stream may deliver data that was already read; the listeners are registered.
  if (isFull && !stream.isPaused) {
    stream.pause()
    const resume = (): void => {
      stdin.off('drain', resume).off('close', resume)
      stream.resume()
    }
    stdin.on('drain', resume).on('close', resume)
  }
  if (frame.closesStdin) stdin.end()
}

/** Resolves when the output has ended and everything was sent. */
async function forwardOutput(
  stream: StreamSocket,
  output: Readable,
  name: 'stdout' | 'stderr',
): Promise<void> {
  try {
    for await (const chunk of output) {
      // Streams of bytes give Buffers.
      const bytes = chunk as Buffer
      for (let position = 0; position < bytes.length; position += AGENT_LIMITS.execChunkBytesMax) {
        stream.send(
          outputFrame(name, bytes.subarray(position, position + AGENT_LIMITS.execChunkBytesMax)),
        )
        await stream.drained()
      }
      if (stream.isClosed) return
    }
  } catch {
    // The command is gone: everything it wrote was sent.
  }
  stream.send(closeFrame(name))
}

/** Sends a heartbeat frame every 10 s, and closes the session after 60 s without a frame. */
class Heartbeat {
  readonly #stream: StreamSocket
  readonly #clock: Clock
  #lastReceivedMs: number
  #cancel: () => void = () => undefined

  constructor(stream: StreamSocket, clock: Clock) {
    this.#stream = stream
    this.#clock = clock
    this.#lastReceivedMs = clock.monotonicMs()
    this.#schedule()
  }

  onFrame(): void {
    this.#lastReceivedMs = this.#clock.monotonicMs()
  }

  stop(): void {
    this.#cancel()
  }

  #schedule(): void {
    this.#cancel = this.#clock.after(AGENT_LIMITS.execHeartbeatIntervalMs, () => {
      const sinceLastFrameMs = this.#clock.monotonicMs() - this.#lastReceivedMs
      // While input is paused the caller cannot send frames either.
      if (this.#stream.isPaused) this.onFrame()
      else if (sinceLastFrameMs > LIMITS.nodeStreamIdleTimeoutMs)
        return this.#stream.close(1008, 'no frame came for a minute')
      if (!this.#stream.isFull) this.#stream.send(HEARTBEAT_FRAME)
      this.#schedule()
    })
  }
}

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

/**
 * Runs a command in a task. A restarted agent knows that a task is running before it has
 * re-attached to it: wait for that, within limits. Rejects with a Fault `task-not-running` if the
 * task does not run.
 */
export async function execWhenAttached(
  task: Pick<TaskControl, 'state' | 'exec'>,
  request: ExecRequest,
  clock: Clock,
): Promise<ExecSession> {
  const deadlineMs = clock.monotonicMs() + AGENT_LIMITS.reattachTimeoutMs
  for (;;) {
    try {
      return await task.exec(request)
    } catch (thrown) {
      const isUnattached = isNotRunning(thrown) && task.state.State === 'running'
      if (!isUnattached || clock.monotonicMs() >= deadlineMs) throw thrown
    }
    await sleep(clock, AGENT_LIMITS.reattachPollIntervalMs)
  }
}

export function isNotRunning(thrown: unknown): boolean {
  return thrown instanceof Fault && thrown.kind === 'task-not-running'
}

const requestFrameChecker = Compile(ExecRequestFrame)

/** Content of a frame from the caller; all members of a heartbeat are empty. */
interface ExecInput {
  readonly stdin: Buffer | undefined
  readonly closesStdin: boolean
  readonly size: TerminalSize | undefined
}

const TERMINAL_SIZE_MAX = 65_535

/** Parses a frame; unknown members are ignored. */
export function readExecFrame(data: Uint8Array): Result<ExecInput, string> {
  let value: unknown
  try {
    value = JSON.parse(Buffer.from(data).toString('utf8'))
  } catch (thrown) {
    return err(`a frame is no JSON: ${errorMessage(thrown)}`)
  }
  if (!requestFrameChecker.Check(value)) {
    const [firstError] = requestFrameChecker.Errors(value)
    return err(`a frame is wrong: ${firstError?.instancePath ?? ''} ${firstError?.message ?? ''}`)
  }
  const { stdin, tty_size: size } = value
  const input = stdin?.data === undefined ? undefined : readBase64(stdin.data)
  if (stdin?.data !== undefined && input === undefined)
    return err('a frame is wrong: /stdin/data is not base64')
  return ok({
    stdin: input,
    closesStdin: stdin?.close === true,
    size: size === undefined ? undefined : terminalSizeOf(size.height, size.width),
  })
}

/** Decodes base64; undefined if invalid. Line breaks are allowed, as other tools write them. */
function readBase64(data: string): Buffer | undefined {
  const compact = data.replace(/[\r\n]+/g, '')
  return isBase64(compact) ? Buffer.from(compact, 'base64') : undefined
}

/** Terminal size; undefined if it is zero or unreasonably large. */
function terminalSizeOf(rows: number, columns: number): TerminalSize | undefined {
  const isSize = (value: number): boolean => value > 0 && value <= TERMINAL_SIZE_MAX
  return isSize(rows) && isSize(columns) ? { rows, columns } : undefined
}

const HEARTBEAT_FRAME = '{}'

export function outputFrame(stream: 'stdout' | 'stderr', bytes: Buffer): string {
  return encodeFrame({ [stream]: { data: bytes.toString('base64') } })
}

export function closeFrame(stream: 'stdout' | 'stderr'): string {
  return encodeFrame({ [stream]: { close: true } })
}

/** Exit frame; the code is always present, even if it is 0. */
export function exitFrame(exitCode: number): string {
  return encodeFrame({ exited: true, result: { exit_code: exitCode } })
}

function encodeFrame(frame: ExecResponseFrame): string {
  return JSON.stringify(frame)
}
