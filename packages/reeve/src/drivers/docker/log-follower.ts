import type { IncomingMessage } from 'node:http'
import { sleep, type TaskLogFiles } from '../../agent/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { RotatingLogWriter } from '../rotating-log.ts'
import type { EngineClient } from './engine-client.ts'
import { FrameReader, LineReader, type LogFrame } from './log-frames.ts'
import {
  LogBatch,
  type BytesByStream,
  LogCursor,
  LOG_START,
  LogPositionFile,
  sinceParameter,
  type LogPosition,
} from './log-position.ts'

/** How long to wait before asking an engine again that went away. */
const RETRY_DELAY_MS = 1_000

/**
 * Output that is read and not yet written. Past this nothing more is read from the engine until a
 * write has ended, so one container holds two batches of this size at most.
 */
const BATCH_BYTES_MAX = 1024 * 1024

/** How long the engine may send nothing of a log that it has. */
const READ_IDLE_TIMEOUT_MS = 30_000

/**
 * How long the rest of the output may take after the container ended, an engine that is away
 * included. A log of 64 MB takes some 30 s with a slow engine.
 */
const DRAIN_TIMEOUT_MS = 5 * 60_000

export interface LogFollowerOptions {
  readonly engine: EngineClient
  readonly containerId: string
  readonly logs: TaskLogFiles
  readonly isTty: boolean
  /** Where the position is kept for the next agent. */
  readonly dir: string
  readonly clock: Clock
  /** Told when output is lost. */
  report(message: string): void
  /** Whether the container runs at this moment. */
  isRunning(): Promise<boolean>
  /** Size of the engine's log of this container; undefined where it cannot be told. */
  engineLogSize?(): Promise<number | undefined>
  /** `DRAIN_TIMEOUT_MS` unless given. */
  readonly drainTimeoutMs?: number
}

/**
 * Carries the output of a container from the engine into the files of the task, in batches: what
 * was read during a write is the next one. Some engines leave out lines of a stream that follows a
 * container which has ended, so a batch counts only if the container still ran when it was whole;
 * the rest is read from the finished log. The engine keeps the output while no agent is there; the
 * next agent goes on behind the last byte, because the saved position says how long the files were
 * with it, and what they are longer is left out.
 */
export class LogFollower {
  readonly #options: LogFollowerOptions
  readonly #logs: Readonly<Record<LogFrame['stream'], RotatingLogWriter>>
  readonly #positionFile: LogPositionFile
  readonly #stopped = new AbortController()
  readonly #containerEnded = new AbortController()
  readonly #following: Promise<void>
  #position: LogPosition = LOG_START
  #batch = new LogBatch()
  #writing: Promise<void> | undefined
  /** Bytes at the start of each stream that an agent wrote and had no time to note. */
  readonly #alreadyWritten = { stdout: 0, stderr: 0 }
  /** The same behind what is written: what is discarded comes again. */
  #alreadyWrittenAfterBatch: BytesByStream = { stdout: 0, stderr: 0 }
  /** Whether the stream that is read follows a container, and may have gaps once that has ended. */
  #followsRunningContainer = false
  #isDiscarding = false
  /** Grows with each piece that is read and each batch that is written. */
  #progressCount = 0
  #hasReportedDrop = false

  constructor(options: LogFollowerOptions) {
    this.#options = options
    const { logs } = options
    this.#logs = {
      stdout: new RotatingLogWriter({ ...logs, prefix: logs.stdoutPrefix }),
      stderr: new RotatingLogWriter({ ...logs, prefix: logs.stderrPrefix }),
    }
    this.#positionFile = new LogPositionFile(options.dir)
    this.#following = this.#follow()
  }

  /** The container has ended: resolves when its last words are written. Never rejects. */
  async finish(): Promise<void> {
    const { clock, drainTimeoutMs = DRAIN_TIMEOUT_MS } = this.#options
    this.#containerEnded.abort()
    await this.#following
    const deadlineMs = clock.monotonicMs() + drainTimeoutMs
    let isComplete = false
    while (!isComplete && !this.#stopped.signal.aborted) {
      isComplete = await this.#readRest().catch(() => false)
      if (isComplete || clock.monotonicMs() >= deadlineMs) break
      await sleep(clock, Math.min(RETRY_DELAY_MS, drainTimeoutMs), this.#stopped.signal)
    }
    if (!isComplete && !this.#stopped.signal.aborted) await this.#reportUnread()
    this.#reportDropped(true)
    await this.#close()
  }

  /** The agent goes: the engine keeps what comes from now on. */
  stop(): void {
    this.#stopped.abort()
    void this.#following.then(() => this.#close())
  }

  async #close(): Promise<void> {
    await Promise.all([
      this.#logs.stdout.close(),
      this.#logs.stderr.close(),
      this.#positionFile.close(),
    ])
  }

  async #follow(): Promise<void> {
    const { clock } = this.#options
    const signal = AbortSignal.any([this.#stopped.signal, this.#containerEnded.signal])
    await this.#openAtPosition()
    while (!signal.aborted) {
      // An engine that went away comes back with the same log.
      await this.#readLog({ follow: '1' }, signal).catch(() => false)
      await sleep(clock, RETRY_DELAY_MS, signal)
    }
  }

  /** Finds out where the files and the engine's log stand to each other. */
  async #openAtPosition(): Promise<void> {
    const saved = await this.#positionFile.load().catch(() => LOG_START)
    for (const stream of ['stdout', 'stderr'] as const) {
      const offset = await this.#logs[stream].open().catch(() => undefined)
      const alreadyWritten = (offset ?? 0) - (saved[stream].offset ?? offset ?? 0)
      // More than an agent writes at once was written by somebody else, such as the task.
      if (alreadyWritten > 0 && alreadyWritten <= 2 * BATCH_BYTES_MAX)
        this.#alreadyWritten[stream] = alreadyWritten
    }
    this.#position = saved
    this.#alreadyWrittenAfterBatch = { ...this.#alreadyWritten }
    await this.#savePosition(this.#alreadyWritten)
  }

  /** The whole rest of the log of a container that has ended. True when it came to its end. */
  async #readRest(): Promise<boolean> {
    const idle = new AbortController()
    const done = new AbortController()
    void this.#abortWhenIdle(idle, done.signal)
    try {
      const signal = AbortSignal.any([this.#stopped.signal, idle.signal])
      return await this.#readLog({ follow: '0' }, signal)
    } finally {
      done.abort()
    }
  }

  /** Aborts once nothing has been read or written for so long. */
  async #abortWhenIdle(idle: AbortController, signal: AbortSignal): Promise<void> {
    for (let lastProgress = -1; this.#progressCount !== lastProgress;) {
      lastProgress = this.#progressCount
      if (!(await sleep(this.#options.clock, READ_IDLE_TIMEOUT_MS, signal))) return
    }
    idle.abort()
  }

  /** True when the stream came to its end. */
  async #readLog(query: { readonly follow: '0' | '1' }, signal: AbortSignal): Promise<boolean> {
    const { engine, containerId } = this.#options
    const times = { timestamps: '1', since: sinceParameter(this.#position) }
    const response = await engine.openStream({
      method: 'GET',
      path: `/containers/${containerId}/logs`,
      query: { ...query, ...times, stdout: '1', stderr: '1' },
      signal,
    })
    if (response.statusCode !== 200) {
      response.destroy()
      // Removed, with its log: there is no more to come.
      return response.statusCode === 404
    }
    this.#followsRunningContainer = query.follow === '1'
    await this.#copyOutput(response)
    return response.complete
  }

  async #copyOutput(response: IncomingMessage): Promise<void> {
    const reader = this.#options.isTty ? new LineReader() : new FrameReader()
    const cursor = new LogCursor(this.#position)
    try {
      for await (const piece of response) {
        this.#progressCount += 1
        // Node's streams of bytes give Buffers.
        this.#addToBatch(reader.read(piece as Buffer), cursor)
        const written = this.#startWriting()
        if (this.#batch.bytes >= BATCH_BYTES_MAX) await written
        // What comes now is read again when the container has ended.
        if (this.#isDiscarding) break
      }
      this.#addToBatch(reader.flush(), cursor)
    } finally {
      // A frame that broke off is not gathered: it comes again, whole, with the next read.
      await this.#startWriting()
      this.#isDiscarding = false
    }
  }

  #addToBatch(frames: readonly LogFrame[], cursor: LogCursor): void {
    if (frames.length === 0) return
    for (const frame of frames) {
      const bytes = cursor.accept(frame)
      if (bytes === undefined) continue
      const skipped = Math.min(bytes.length, this.#alreadyWritten[frame.stream])
      this.#alreadyWritten[frame.stream] -= skipped
      if (skipped < bytes.length) this.#batch.add(frame.stream, bytes.subarray(skipped))
    }
    this.#batch.setPosition(cursor.position, { ...this.#alreadyWritten })
  }

  /** Resolves when everything that was gathered is written. One write at a time. */
  #startWriting(): Promise<void> {
    this.#writing ??= this.#writeBatches().finally(() => (this.#writing = undefined))
    return this.#writing
  }

  async #writeBatches(): Promise<void> {
    while (!this.#batch.isEmpty) {
      const batch = this.#batch
      this.#batch = new LogBatch()
      if (this.#isDiscarding || !(await this.#isBatchComplete())) {
        this.#isDiscarding = true
        Object.assign(this.#alreadyWritten, this.#alreadyWrittenAfterBatch)
        continue
      }
      await Promise.all([
        this.#logs.stdout.write(batch.concatenate('stdout')),
        this.#logs.stderr.write(batch.concatenate('stderr')),
      ])
      this.#position = batch.position
      this.#alreadyWrittenAfterBatch = batch.alreadyWritten
      this.#progressCount += 1
      await this.#savePosition(batch.alreadyWritten)
      this.#reportDropped(false)
    }
  }

  /** Asked when the batch is whole: what was sent before the container ended has no gaps. */
  async #isBatchComplete(): Promise<boolean> {
    return !this.#followsRunningContainer || (await this.#options.isRunning().catch(() => false))
  }

  /** One position for each batch; one that cannot be saved repeats output after a restart. */
  async #savePosition(alreadyWritten: BytesByStream): Promise<void> {
    const { stdout, stderr } = this.#position
    const position = {
      stdout: { ...stdout, offset: this.#logs.stdout.offset - alreadyWritten.stdout },
      stderr: { ...stderr, offset: this.#logs.stderr.offset - alreadyWritten.stderr },
    }
    await this.#positionFile.save(position).catch(() => undefined)
  }

  #reportDropped(isEnd: boolean): void {
    const dropped = this.#logs.stdout.droppedBytes + this.#logs.stderr.droppedBytes
    if (dropped === 0 || (this.#hasReportedDrop && !isEnd)) return
    this.#hasReportedDrop = true
    const when = isEnd ? 'in all' : 'so far'
    this.#options.report(
      `${dropped} bytes of output ${when} were dropped: the log files of the task cannot be ` +
        'written. Free disk space on the node.',
    )
  }

  async #reportUnread(): Promise<void> {
    const { stdout, stderr } = this.#position
    const total = await this.#options.engineLogSize?.().catch(() => undefined)
    const read = (stdout.bytes ?? 0) + (stderr.bytes ?? 0)
    const size =
      total === undefined ? 'An unknown amount' : `Up to ${Math.max(0, total - read)} bytes`
    this.#options.report(
      `${size} of output could not be read: the container engine did not send the rest of the ` +
        `log after the container ended. ${read} bytes were read.`,
    )
  }
}
