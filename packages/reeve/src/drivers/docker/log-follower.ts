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

/** Retry delay after the engine was unavailable. */
const RETRY_DELAY_MS = 1_000

/**
 * Limit of buffered output in bytes. Above it, reading pauses until a write has ended, so a
 * container buffers at most two batches of this size.
 */
const BATCH_BYTES_MAX = 1024 * 1024

/** Timeout for an engine that sends nothing of an existing log. */
const READ_IDLE_TIMEOUT_MS = 30_000

/**
 * Timeout for the remaining output of an ended container, including the time in which the engine is
 * unavailable. A log of 64 MB takes about 30 s with a slow engine.
 */
const DRAIN_TIMEOUT_MS = 5 * 60_000

export interface LogFollowerOptions {
  readonly engine: EngineClient
  readonly containerId: string
  readonly logs: TaskLogFiles
  readonly isTty: boolean
  /** File of the position, for the next agent. */
  readonly dir: string
  readonly clock: Clock
  /** Called when output is lost. */
  report(message: string): void
  /** Reports whether the container is running now. */
  isRunning(): Promise<boolean>
  /** Returns the size of the engine's log of this container; undefined if unknown. */
  engineLogSize?(): Promise<number | undefined>
  /** Default: `DRAIN_TIMEOUT_MS`. */
  readonly drainTimeoutMs?: number
}

/**
 * Copies the output of a container from the engine to the files of the task, in batches: output
 * that arrives during a write is in the next batch. Some engines omit lines at the end of a
 * followed stream when the container ends, so a batch is only written if the container was still
 * running when the batch was complete; the rest is read from the finished log. While no agent runs,
 * the engine keeps the output. The next agent continues after the last written byte: the saved
 * position contains the lengths of the files, and bytes beyond them are skipped in the log.
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
  /**
   * Bytes at the start of each stream that an earlier agent wrote after its last saved position.
   */
  readonly #alreadyWritten = { stdout: 0, stderr: 0 }
  /** The same after the current position: discarded output is read again. */
  #alreadyWrittenAfterBatch: BytesByStream = { stdout: 0, stderr: 0 }
  /**
   * Whether the current stream follows a running container, so that it may have gaps at its end.
   */
  #followsRunningContainer = false
  #isDiscarding = false
  /** Increases with each chunk that is read and each batch that is written, to detect stalls. */
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

  /** Call after the container has ended. Resolves when its output is written. Never rejects. */
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

  /** Stops following when the agent stops; the engine keeps later output. */
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
      // An engine that was unavailable still has the log.
      await this.#readLog({ follow: '1' }, signal).catch(() => false)
      await sleep(clock, RETRY_DELAY_MS, signal)
    }
  }

  /** Determines which part of the engine's log is already in the files. */
  async #openAtPosition(): Promise<void> {
    const saved = await this.#positionFile.load().catch(() => LOG_START)
    for (const stream of ['stdout', 'stderr'] as const) {
      const offset = await this.#logs[stream].open().catch(() => undefined)
      const alreadyWritten = (offset ?? 0) - (saved[stream].offset ?? offset ?? 0)
      // More bytes than one batch were written by another process, such as the task.
      if (alreadyWritten > 0 && alreadyWritten <= 2 * BATCH_BYTES_MAX)
        this.#alreadyWritten[stream] = alreadyWritten
    }
    this.#position = saved
    this.#alreadyWrittenAfterBatch = { ...this.#alreadyWritten }
    await this.#savePosition(this.#alreadyWritten)
  }

  /** Copies the remaining log of an ended container. True if the end was reached. */
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

  /** Aborts if nothing was read or written for this time. */
  async #abortWhenIdle(idle: AbortController, signal: AbortSignal): Promise<void> {
    for (let lastProgress = -1; this.#progressCount !== lastProgress;) {
      lastProgress = this.#progressCount
      if (!(await sleep(this.#options.clock, READ_IDLE_TIMEOUT_MS, signal))) return
    }
    idle.abort()
  }

  /** Copies one stream. True if its end was reached. */
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
      // The container was removed with its log.
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
        // Proof: byte streams of Node emit Buffers.
        this.#addToBatch(reader.read(piece as Buffer), cursor)
        const written = this.#startWriting()
        if (this.#batch.bytes >= BATCH_BYTES_MAX) await written
        // Output from now on is read again after the container has ended.
        if (this.#isDiscarding) break
      }
      this.#addToBatch(reader.flush(), cursor)
    } finally {
      // An incomplete frame is dropped: the next read returns it again.
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

  /** Writes the buffered output, one write at a time. */
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

  /** Checked when the batch is complete: output sent while the container ran has no gaps. */
  async #isBatchComplete(): Promise<boolean> {
    return !this.#followsRunningContainer || (await this.#options.isRunning().catch(() => false))
  }

  /** Saves the position after each batch. If that fails, output is repeated after a restart. */
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
