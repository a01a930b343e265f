import type { Readable } from 'node:stream'
import type { Clock } from '@reeve/kit/clock.ts'
import type { StreamSocket } from '@reeve/kit/stream-socket.ts'
import { LIMITS } from '../../model/index.ts'
import { AGENT_LIMITS } from '../limits.ts'
import type { ExecSession } from '../task-session.ts'
import {
  closeFrame,
  exitFrame,
  HEARTBEAT_FRAME,
  outputFrame,
  readExecFrame,
  type ExecInput,
} from './exec-frames.ts'

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
