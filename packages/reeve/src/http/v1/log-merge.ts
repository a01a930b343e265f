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
  /** Begin each line with the short id of its allocation and its task. */
  readonly hasPrefix: boolean
  readonly from: { readonly offset: number; readonly origin: StreamOrigin }
  /** What there is now, in order. */
  sources(): readonly LogSource[]
  /** Whether nothing can be added to it any more. */
  isOver(): boolean
  /** Calls back when `sources` may have changed; gives the way to take that back. */
  watch(changed: () => void): () => void
}

/** One source while it is read. */
interface Reading {
  readonly lines: LogLines
  wasOpened: boolean
  /** How far; undefined while nothing was told. */
  place: LogPlace | undefined
  /** Streams that broke in a row without a byte of output between. */
  failures: number
}

const LOST = 'the connection to the node was lost'

/** A node that restarts is back in seconds; one that is not after some minutes has gone. */
const RESUMES_MAX = 12
const RESUME_MS_FIRST = 250
const RESUME_MS_MAX = 30_000

/**
 * The output of many tasks as one. What is only read comes source by source; what is followed comes
 * as it is written, and sources that appear are taken in. A reader that stops makes all of them
 * wait.
 */
export class LogMerge {
  readonly output: Readable
  readonly #options: LogMergeOptions
  readonly #seen = new Set<string>()
  readonly #streams = new Set<StreamSocket>()
  /** Sources that are being opened or read. */
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

  /** Looks for what is new, now and whenever something changed, until nothing can come. */
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
        // There may be room now for one that had to wait.
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

  /** Resolves when the source has ended. One that is followed goes on where its stream broke. */
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

  /** What kept it from being read to its end, if something did. */
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
        // A task that has no log has nothing to say; a node that cannot be asked may have.
        return undefined
      } else if (!reading.wasOpened && !this.#mayConnect(opened.error)) return opened.error.message
      if (!(await this.#mayResume(reading))) return LOST
    }
  }

  /** A node that is on its way back after a restart of the server is worth waiting for. */
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
    // What is followed may have to be resumed: frames tell how far it was read.
    return gateway.open(nodeId, { request: { ...what, follow, framed: follow }, accessorId })
  }

  /** Waits before the next try; false when there is to be none. */
  async #mayResume(reading: Reading): Promise<boolean> {
    const { follow, clock } = this.#options
    reading.failures += 1
    if (!follow || reading.failures > RESUMES_MAX || this.output.destroyed) return false
    // Whoever ended the job may have ended its node as well: one try is enough then.
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

  /** The code it was closed with. */
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

/** A line of ours among theirs, told apart by how it begins. */
function note(name: string, type: string, text: string): Buffer {
  return Buffer.from(`# ${name} ${type}: ${text}\n`)
}
