import type { Readable } from 'node:stream'
import type { Clock } from '@reeve/kit/clock.ts'
import type { StreamSocket } from '@reeve/kit/stream-socket.ts'
import { LIMITS } from '../../model/index.ts'
import { AGENT_LIMITS } from '../limits.ts'
import type { ExecSession } from '../task-session.ts'
import {
  endFrame,
  exitFrame,
  HEARTBEAT_FRAME,
  outputFrame,
  readExecFrame,
  type ExecInput,
} from './exec-frames.ts'

/**
 * Joins a command's streams to its caller's frames, each no faster than the other side takes them.
 * Settles when the session is over; every byte of output has been sent before the exit is told.
 */
export async function serveExec(
  stream: StreamSocket,
  session: ExecSession,
  clock: Clock,
): Promise<void> {
  const { promise: left, resolve: leave } = Promise.withResolvers<void>()
  const beat = new Heartbeat(stream, clock)
  stream.onClose(() => {
    beat.stop()
    // Who leaves ends the command, not the task.
    session.hangUp()
    leave()
  })
  // A command that has ended, or has closed its input, takes no more; that is no failure.
  session.stdin.on('error', () => undefined)
  stream.onMessage((data) => {
    beat.heard()
    const frame = readExecFrame(data)
    if (frame.ok) input(stream, session, frame.value)
    else stream.close(1008, frame.error)
  })
  const output = Promise.all([
    forward(stream, session.stdout, 'stdout'),
    forward(stream, session.stderr, 'stderr'),
    session.exited,
  ])
  await Promise.race([output.then(([, , exitCode]) => finish(stream, exitCode)), left])
}

function finish(stream: StreamSocket, exitCode: number): void {
  stream.send(exitFrame(exitCode))
  stream.close(1000)
}

function input(stream: StreamSocket, session: ExecSession, frame: ExecInput): void {
  const { stdin } = session
  if (frame.size !== undefined) session.resize(frame.size)
  if (stdin.writableEnded || stdin.destroyed) return
  const isFull = frame.stdin !== undefined && !stdin.write(frame.stdin)
  // A paused stream still delivers what it has read; the listeners for it are there already.
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

/** Resolves when the output has ended and all of it was sent. */
async function forward(
  stream: StreamSocket,
  output: Readable,
  name: 'stdout' | 'stderr',
): Promise<void> {
  try {
    for await (const chunk of output) {
      // Streams of bytes give Buffers.
      const bytes = chunk as Buffer
      for (let at = 0; at < bytes.length; at += AGENT_LIMITS.execChunkBytesMax) {
        stream.send(outputFrame(name, bytes.subarray(at, at + AGENT_LIMITS.execChunkBytesMax)))
        await stream.drained()
      }
      if (stream.isClosed) return
    }
  } catch {
    // What broke was the pipe to a command that is gone: it has said all it could.
  }
  stream.send(endFrame(name))
}

/** A frame every 10 s, and the end when nothing comes for 60 s. */
class Heartbeat {
  readonly #stream: StreamSocket
  readonly #clock: Clock
  #heardMs: number
  #cancel: () => void = () => undefined

  constructor(stream: StreamSocket, clock: Clock) {
    this.#stream = stream
    this.#clock = clock
    this.#heardMs = clock.monotonicMs()
    this.#later()
  }

  heard(): void {
    this.#heardMs = this.#clock.monotonicMs()
  }

  stop(): void {
    this.#cancel()
  }

  #later(): void {
    this.#cancel = this.#clock.after(AGENT_LIMITS.execHeartbeatMs, () => {
      const silentMs = this.#clock.monotonicMs() - this.#heardMs
      // While the command takes no input the caller is made to wait, and its frames with it.
      if (this.#stream.isPaused) this.heard()
      else if (silentMs > LIMITS.nodeStreamSilentMsMax)
        return this.#stream.close(1008, 'no frame came for a minute')
      if (!this.#stream.isFull) this.#stream.send(HEARTBEAT_FRAME)
      this.#later()
    })
  }
}
