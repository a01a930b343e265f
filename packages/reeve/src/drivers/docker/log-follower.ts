import type { IncomingMessage } from 'node:http'
import { pause, type LogFiles } from '../../agent/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { RotatingLog } from '../logs/rotating-log.ts'
import type { Engine } from './engine.ts'
import { FrameReader, type Frame } from './frames.ts'
import { LineReader } from './line-reader.ts'
import { LogBatch, type StreamBytes } from './log-batch.ts'
import { LogCursor, LOG_START, PositionFile, sinceOf, type LogPosition } from './log-position.ts'

/** How long to wait before asking an engine again that went away. */
const RETRY_MS = 1_000

/**
 * Output that is read and not yet written. Past this nothing more is read from the engine until a
 * write has ended, so one container holds two batches of this size at most.
 */
const BATCH_BYTES_MAX = 1024 * 1024

/** How long the engine may send nothing of a log that it has. */
const READ_SILENCE_MS_MAX = 30_000

/**
 * How long the rest of the output may take after the container ended, an engine that is away
 * included. A log of 64 MB takes some 30 s with a slow engine.
 */
const DRAIN_MS_MAX = 5 * 60_000

export interface FollowerOptions {
  readonly engine: Engine
  readonly containerId: string
  readonly logs: LogFiles
  readonly isTty: boolean
  /** Where the position is kept for the next agent. */
  readonly dir: string
  readonly clock: Clock
  /** Told when output is lost. */
  report(message: string): void
  /** Whether the container runs at this moment. */
  isRunning(): Promise<boolean>
  /** Size of the engine's log of this container; undefined where it cannot be told. */
  logBytes?(): Promise<number | undefined>
  /** `DRAIN_MS_MAX` unless given. */
  readonly drainMsMax?: number
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
  readonly #options: FollowerOptions
  readonly #logs: Readonly<Record<Frame['stream'], RotatingLog>>
  readonly #file: PositionFile
  readonly #stopped = new AbortController()
  readonly #containerOver = new AbortController()
  readonly #following: Promise<void>
  #position: LogPosition = LOG_START
  #batch = new LogBatch()
  #writing: Promise<void> | undefined
  /** Bytes at the start of each stream that an agent wrote and had no time to note. */
  readonly #surplus = { stdout: 0, stderr: 0 }
  /** The same behind what is written: what is discarded comes again. */
  #writtenSurplus: StreamBytes = { stdout: 0, stderr: 0 }
  /** Whether the stream that is read follows a container, and may have gaps once that has ended. */
  #isLive = false
  #isDiscarding = false
  /** Grows with each piece that is read and each batch that is written. */
  #progress = 0
  #reportedDrop = false

  constructor(options: FollowerOptions) {
    this.#options = options
    const { logs } = options
    this.#logs = {
      stdout: new RotatingLog({ ...logs, prefix: logs.stdoutPrefix }),
      stderr: new RotatingLog({ ...logs, prefix: logs.stderrPrefix }),
    }
    this.#file = new PositionFile(options.dir)
    this.#following = this.#follow()
  }

  /** The container has ended: resolves when its last words are written. Never rejects. */
  async finish(): Promise<void> {
    const { clock, drainMsMax = DRAIN_MS_MAX } = this.#options
    this.#containerOver.abort()
    await this.#following
    const endMs = clock.monotonicMs() + drainMsMax
    let isWhole = false
    while (!isWhole && !this.#stopped.signal.aborted) {
      isWhole = await this.#readRest().catch(() => false)
      if (isWhole || clock.monotonicMs() >= endMs) break
      await pause(clock, Math.min(RETRY_MS, drainMsMax), this.#stopped.signal)
    }
    if (!isWhole && !this.#stopped.signal.aborted) await this.#reportUnread()
    this.#reportDropped(true)
    await this.#close()
  }

  /** The agent goes: the engine keeps what comes from now on. */
  stop(): void {
    this.#stopped.abort()
    void this.#following.then(() => this.#close())
  }

  async #close(): Promise<void> {
    await Promise.all([this.#logs.stdout.close(), this.#logs.stderr.close(), this.#file.close()])
  }

  async #follow(): Promise<void> {
    const { clock } = this.#options
    const signal = AbortSignal.any([this.#stopped.signal, this.#containerOver.signal])
    await this.#open()
    while (!signal.aborted) {
      // An engine that went away comes back with the same log.
      await this.#read({ follow: '1' }, signal).catch(() => false)
      await pause(clock, RETRY_MS, signal)
    }
  }

  /** Finds out where the files and the engine's log stand to each other. */
  async #open(): Promise<void> {
    const saved = await this.#file.load().catch(() => LOG_START)
    for (const stream of ['stdout', 'stderr'] as const) {
      const offset = await this.#logs[stream].open().catch(() => undefined)
      const surplus = (offset ?? 0) - (saved[stream].offset ?? offset ?? 0)
      // More than an agent writes at once was written by somebody else, such as the task.
      if (surplus > 0 && surplus <= 2 * BATCH_BYTES_MAX) this.#surplus[stream] = surplus
    }
    this.#position = saved
    this.#writtenSurplus = { ...this.#surplus }
    await this.#save(this.#surplus)
  }

  /** The whole rest of the log of a container that has ended. True when it came to its end. */
  async #readRest(): Promise<boolean> {
    const silent = new AbortController()
    const done = new AbortController()
    void this.#abortWhenSilent(silent, done.signal)
    try {
      const signal = AbortSignal.any([this.#stopped.signal, silent.signal])
      return await this.#read({ follow: '0' }, signal)
    } finally {
      done.abort()
    }
  }

  /** Aborts once nothing has been read or written for so long. */
  async #abortWhenSilent(silent: AbortController, signal: AbortSignal): Promise<void> {
    for (let before = -1; this.#progress !== before;) {
      before = this.#progress
      if (!(await pause(this.#options.clock, READ_SILENCE_MS_MAX, signal))) return
    }
    silent.abort()
  }

  /** True when the stream came to its end. */
  async #read(query: { readonly follow: '0' | '1' }, signal: AbortSignal): Promise<boolean> {
    const { engine, containerId } = this.#options
    const times = { timestamps: '1', since: sinceOf(this.#position) }
    const response = await engine.open({
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
    this.#isLive = query.follow === '1'
    await this.#carry(response)
    return response.complete
  }

  async #carry(response: IncomingMessage): Promise<void> {
    const reader = this.#options.isTty ? new LineReader() : new FrameReader()
    const cursor = new LogCursor(this.#position)
    try {
      for await (const piece of response) {
        this.#progress += 1
        // Node's streams of bytes give Buffers.
        this.#gather(reader.read(piece as Buffer), cursor)
        const written = this.#write()
        if (this.#batch.bytes >= BATCH_BYTES_MAX) await written
        // What comes now is read again when the container has ended.
        if (this.#isDiscarding) break
      }
      this.#gather(reader.end(), cursor)
    } finally {
      // A frame that broke off is not gathered: it comes again, whole, with the next read.
      await this.#write()
      this.#isDiscarding = false
    }
  }

  #gather(frames: readonly Frame[], cursor: LogCursor): void {
    if (frames.length === 0) return
    for (const frame of frames) {
      const bytes = cursor.accept(frame)
      if (bytes === undefined) continue
      const skipped = Math.min(bytes.length, this.#surplus[frame.stream])
      this.#surplus[frame.stream] -= skipped
      if (skipped < bytes.length) this.#batch.add(frame.stream, bytes.subarray(skipped))
    }
    this.#batch.reach(cursor.position, { ...this.#surplus })
  }

  /** Resolves when everything that was gathered is written. One write at a time. */
  #write(): Promise<void> {
    this.#writing ??= this.#writeBatches().finally(() => (this.#writing = undefined))
    return this.#writing
  }

  async #writeBatches(): Promise<void> {
    while (!this.#batch.isEmpty) {
      const batch = this.#batch
      this.#batch = new LogBatch()
      if (this.#isDiscarding || !(await this.#isTrusted())) {
        this.#isDiscarding = true
        Object.assign(this.#surplus, this.#writtenSurplus)
        continue
      }
      await Promise.all([
        this.#logs.stdout.write(batch.take('stdout')),
        this.#logs.stderr.write(batch.take('stderr')),
      ])
      this.#position = batch.position
      this.#writtenSurplus = batch.surplus
      this.#progress += 1
      await this.#save(batch.surplus)
      this.#reportDropped(false)
    }
  }

  /** Asked when the batch is whole: what was sent before the container ended has no gaps. */
  async #isTrusted(): Promise<boolean> {
    return !this.#isLive || (await this.#options.isRunning().catch(() => false))
  }

  /** One position for each batch; one that cannot be saved repeats output after a restart. */
  async #save(surplus: StreamBytes): Promise<void> {
    const { stdout, stderr } = this.#position
    const position = {
      stdout: { ...stdout, offset: this.#logs.stdout.offset - surplus.stdout },
      stderr: { ...stderr, offset: this.#logs.stderr.offset - surplus.stderr },
    }
    await this.#file.save(position).catch(() => undefined)
  }

  #reportDropped(isEnd: boolean): void {
    const dropped = this.#logs.stdout.droppedBytes + this.#logs.stderr.droppedBytes
    if (dropped === 0 || (this.#reportedDrop && !isEnd)) return
    this.#reportedDrop = true
    const when = isEnd ? 'in all' : 'so far'
    this.#options.report(
      `${dropped} bytes of output ${when} were dropped: the log files of the task cannot be ` +
        'written. Free disk space on the node.',
    )
  }

  async #reportUnread(): Promise<void> {
    const { stdout, stderr } = this.#position
    const total = await this.#options.logBytes?.().catch(() => undefined)
    const read = (stdout.bytes ?? 0) + (stderr.bytes ?? 0)
    const size =
      total === undefined ? 'An unknown amount' : `Up to ${Math.max(0, total - read)} bytes`
    this.#options.report(
      `${size} of output could not be read: the container engine did not send the rest of the ` +
        `log after the container ended. ${read} bytes were read.`,
    )
  }
}
