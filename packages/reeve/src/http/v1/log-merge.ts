import { Readable } from 'node:stream'
import type { StreamOrigin } from '@reeve/contract'
import type { Clock } from '@reeve/kit/clock.ts'
import type { StreamSocket } from '@reeve/kit/stream-socket.ts'
import { LIMITS, type Refusal } from '../../model/index.ts'
import type { LogSource, NodeGateway } from '../../workload/index.ts'
import { readLogFrame, type LogPlace } from './log-frames.ts'
import { LogLines } from './log-lines.ts'

interface LogMergeOptions {
  readonly gateway: NodeGateway
  readonly clock: Clock
  readonly accessorId: string
  readonly follow: boolean
  /** Prefix each line with the short ID of its allocation and its task. */
  readonly hasPrefix: boolean
  readonly from: { readonly offset: number; readonly origin: StreamOrigin }
  /** Returns the current sources, in order. */
  sources(): readonly LogSource[]
  /** Reports whether no further output can be added. */
  isOver(): boolean
  /** Subscribes to changes of `sources`; returns the function that unsubscribes. */
  watch(changed: () => void): () => void
}

/** Progress of reading one source. */
interface Reading {
  readonly lines: LogLines
  wasOpened: boolean
  /** Position in the log; undefined before the first frame. */
  place: LogPlace | undefined
  /** Consecutive stream failures without a byte of output in between. */
  failures: number
}

const LOST = 'the connection to the node was lost'

/**
 * Maximum number of retries. A node that restarts returns within seconds; after some minutes it is
 * treated as lost.
 */
const RESUMES_MAX = 12
const RESUME_MS_FIRST = 250
const RESUME_MS_MAX = 30_000

/**
 * Merges the output of many tasks. Without `follow` it is read source by source; with `follow` it
 * is written as it arrives, and new sources are added. A slow reader applies backpressure to all
 * sources.
 */
export class LogMerge {
  readonly output: Readable
  readonly #options: LogMergeOptions
  readonly #seen = new Set<string>()
  readonly #streams = new Set<StreamSocket>()
  /** Number of sources that are being opened or read. */
  #taken = 0
  #isFirst = true
  #hasEnded = false
  #isWaiting = false
  #cancelWatch: () => void = () => undefined

  constructor(options: LogMergeOptions) {
    this.#options = options
    this.output = new Readable({
      read: () => this.#resume(),
      destroy: (error, done) => {
        this.#stop()
        done(error)
      },
    })
  }

  start(): void {
    if (this.#options.follow) this.#follow()
    else void this.#readAll()
  }

  async #readAll(): Promise<void> {
    for (const source of this.#options.sources()) {
      if (this.output.destroyed) return
      await this.#take(source, this.#options.from)
    }
    this.output.push(null)
  }

  /** Starts new sources, now and whenever they change, until the output is complete. */
  #follow(): void {
    if (this.output.destroyed || this.#hasEnded) return
    const from = this.#isFirst ? this.#options.from : { offset: 0, origin: 'start' as const }
    this.#isFirst = false
    for (const source of this.#options.sources()) {
      if (this.#taken >= LIMITS.jobLogSourcesMax) break
      if (this.#seen.has(source.key)) continue
      this.#seen.add(source.key)
      this.#taken += 1
      void this.#take(source, from).finally(() => {
        this.#taken -= 1
        // A source that had to wait may start now.
        this.#follow()
      })
    }
    this.#cancelWatch()
    this.#cancelWatch = this.#options.watch(() => this.#follow())
    this.#endIfOver()
  }

  #endIfOver(): void {
    if (this.output.destroyed || this.#taken > 0 || !this.#options.isOver()) return
    this.#cancelWatch()
    this.#hasEnded = true
    this.output.push(null)
  }

  /**
   * Reads a source; resolves when it has ended. With `follow` a broken stream is resumed where it
   * ended.
   */
  async #take(source: LogSource, from: LogMergeOptions['from']): Promise<void> {
    const { allocation, task, type } = source
    const name = `${allocation.slice(0, 8)} ${task}`
    const reading: Reading = {
      lines: new LogLines(this.#options.hasPrefix ? `${name}: ` : ''),
      wasOpened: false,
      place: undefined,
      failures: 0,
    }
    const problem = await this.#readWhole(source, from, reading)
    this.#push(reading.lines.end())
    if (problem !== undefined) this.#push(note(name, type, problem))
  }

  /** Reads a source to its end. Returns the reason if that failed. */
  async #readWhole(
    source: LogSource,
    from: LogMergeOptions['from'],
    reading: Reading,
  ): Promise<string | undefined> {
    for (;;) {
      const opened = await this.#open(source, from, reading)
      if (opened.ok) {
        reading.wasOpened = true
        const code = await this.#read(opened.value, reading)
        if (code === 1000) return undefined
      } else if (opened.error.code === 'not-on-node') {
        // A task without a log has no output; a node that cannot be reached may have some.
        return undefined
      } else if (!reading.wasOpened && !this.#mayConnect(opened.error)) return opened.error.message
      if (!(await this.#mayResume(reading))) return LOST
    }
  }

  /** Reports whether to wait for a node that is reconnecting after a restart of the server. */
  #mayConnect({ code }: Refusal): boolean {
    return this.#options.follow && code === 'node-connecting'
  }

  #open(
    { allocation, task, type, nodeId }: LogSource,
    from: LogMergeOptions['from'],
    reading: Reading,
  ) {
    const { gateway, accessorId, follow } = this.#options
    const resume = reading.place === undefined ? {} : { resume: reading.place }
    const what = { verb: 'logs', allocation, task, type, ...from, ...resume } as const
    // A followed stream may have to be resumed: frames carry the offset.
    return gateway.open(nodeId, { request: { ...what, follow, framed: follow }, accessorId })
  }

  /** Waits before the next attempt; false if there is none. */
  async #mayResume(reading: Reading): Promise<boolean> {
    const { follow, clock } = this.#options
    reading.failures += 1
    if (!follow || reading.failures > RESUMES_MAX || this.output.destroyed) return false
    // The node may have been stopped together with the job: one attempt is enough then.
    if (this.#options.isOver() && reading.failures > 1) return false
    const { promise, resolve } = Promise.withResolvers<void>()
    const waitMs = Math.min(RESUME_MS_MAX, RESUME_MS_FIRST * 2 ** (reading.failures - 1))
    const cancel = clock.after(waitMs, resolve)
    this.output.once('close', resolve)
    await promise
    cancel()
    this.output.off('close', resolve)
    return !this.output.destroyed
  }

  /** Reads a stream; resolves with its close code. */
  #read(stream: StreamSocket, reading: Reading): Promise<number> {
    const { promise, resolve } = Promise.withResolvers<number>()
    const { follow } = this.#options
    this.#streams.add(stream)
    stream.onClose((code) => {
      this.#streams.delete(stream)
      resolve(code)
    })
    if (this.output.destroyed) stream.close(1001)
    stream.onMessage((data) => {
      const part = follow ? readLogFrame(data) : { bytes: Buffer.from(data), place: undefined }
      if (part === undefined) return stream.terminate()
      reading.place = part.place ?? reading.place
      if (part.bytes.length > 0) reading.failures = 0
      this.#push(reading.lines.add(part.bytes))
    })
    if (this.#isWaiting) stream.pause()
    return promise
  }

  #push(bytes: Buffer): void {
    if (bytes.length === 0 || this.output.destroyed || this.#hasEnded) return
    if (this.output.push(bytes)) return
    this.#isWaiting = true
    for (const stream of this.#streams) stream.pause()
  }

  #resume(): void {
    this.#isWaiting = false
    for (const stream of this.#streams) stream.resume()
  }

  #stop(): void {
    this.#cancelWatch()
    for (const stream of this.#streams) stream.close(1001, 'the caller has gone')
  }
}

/** Returns a line about a source, which its prefix distinguishes from output. */
function note(name: string, type: string, text: string): Buffer {
  return Buffer.from(`# ${name} ${type}: ${text}\n`)
}
