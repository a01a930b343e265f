import type { IncomingMessage } from 'node:http'
import { pause, withDeadline, type LogFiles } from '../../agent/index.ts'
import type { Clock } from '../../kit/clock.ts'
import { RotatingLog } from '../logs/rotating-log.ts'
import type { Engine } from './engine.ts'
import { FrameReader, type Frame } from './frames.ts'
import { LineReader } from './line-reader.ts'
import {
  loadPosition,
  LogCursor,
  LOG_START,
  savePosition,
  sinceOf,
  type LogPosition,
} from './log-position.ts'

/** How long to wait before asking an engine again that went away. */
const RETRY_MS = 1_000

/** How long the engine may take to end the stream of a container that has ended. */
const LAST_WORDS_MS_MAX = 3_000

interface FollowerOptions {
  readonly engine: Engine
  readonly containerId: string
  readonly logs: LogFiles
  readonly isTty: boolean
  /** Where the position is kept for the next agent. */
  readonly dir: string
  readonly clock: Clock
}

/**
 * Carries the output of a container from the engine into the files of the task. The engine keeps it
 * while no agent is there; the next one goes on behind the last entry. Only an agent that is killed
 * between a write and the note of it writes that piece again.
 */
export class LogFollower {
  readonly #options: FollowerOptions
  readonly #stdout: RotatingLog
  readonly #stderr: RotatingLog
  readonly #stopped = new AbortController()
  readonly #containerOver = new AbortController()
  readonly #following: Promise<void>
  #position: LogPosition = LOG_START

  constructor(options: FollowerOptions) {
    this.#options = options
    const { logs } = options
    this.#stdout = new RotatingLog({ ...logs, prefix: logs.stdoutPrefix })
    this.#stderr = new RotatingLog({ ...logs, prefix: logs.stderrPrefix })
    this.#following = this.#follow()
  }

  /** The container has ended: resolves when its last words are written. Never rejects. */
  async finish(): Promise<void> {
    const { clock } = this.#options
    this.#containerOver.abort()
    const deadline = { clock, ms: LAST_WORDS_MS_MAX, what: 'the end of the output' }
    await withDeadline(this.#following, deadline).catch(() => undefined)
    this.#stopped.abort()
    await this.#following
    // The stream may have been cut before its end: what is new in the whole log is the rest.
    const signal = AbortSignal.timeout(LAST_WORDS_MS_MAX)
    await this.#read({ follow: '0' }, signal).catch(() => undefined)
    await this.#close()
  }

  /** The agent goes: the engine keeps what comes from now on. */
  stop(): void {
    this.#stopped.abort()
    void this.#following.then(() => this.#close())
  }

  async #close(): Promise<void> {
    await Promise.all([this.#stdout.close(), this.#stderr.close()])
  }

  async #follow(): Promise<void> {
    const { clock, dir } = this.#options
    const { signal } = this.#stopped
    this.#position = await loadPosition(dir).catch(() => LOG_START)
    while (!signal.aborted) {
      // An engine that went away comes back with the same log.
      await this.#read({ follow: '1' }, signal).catch(() => undefined)
      if (this.#containerOver.signal.aborted) return
      await pause(clock, RETRY_MS, AbortSignal.any([signal, this.#containerOver.signal]))
      if (this.#containerOver.signal.aborted) return
    }
  }

  async #read(query: { readonly follow: '0' | '1' }, signal: AbortSignal): Promise<void> {
    const { engine, containerId } = this.#options
    const response = await engine.open({
      method: 'GET',
      path: `/containers/${containerId}/logs`,
      query: {
        ...query,
        stdout: '1',
        stderr: '1',
        timestamps: '1',
        since: sinceOf(this.#position),
      },
      signal,
    })
    if (response.statusCode !== 200) {
      response.destroy()
      return
    }
    await this.#carry(response)
  }

  async #carry(response: IncomingMessage): Promise<void> {
    const reader = this.#options.isTty ? new LineReader() : new FrameReader()
    const cursor = new LogCursor(this.#position)
    try {
      for await (const piece of response) {
        // Node's streams of bytes give Buffers.
        await this.#write(reader.read(piece as Buffer), cursor)
      }
    } finally {
      await this.#write(reader.end(), cursor)
    }
  }

  async #write(frames: readonly Frame[], cursor: LogCursor): Promise<void> {
    if (frames.length === 0) return
    for (const frame of frames) {
      const bytes = cursor.accept(frame)
      if (bytes === undefined) continue
      await (frame.stream === 'stdout' ? this.#stdout : this.#stderr).write(bytes)
    }
    this.#position = cursor.position
    // A note that cannot be written costs at most repeated output after a restart.
    await savePosition(this.#options.dir, this.#position).catch(() => undefined)
  }
}
