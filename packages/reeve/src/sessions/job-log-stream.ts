import { Readable } from 'node:stream'
import type { NodeStreamRequest, StreamOrigin } from '@reeve/contract'
import type { Clock } from '@reeve/kit/clock.ts'
import type { StreamSocket } from '@reeve/kit/stream-socket.ts'
import { LIMITS, type Refusal } from '../model/index.ts'
import type { LogSource, NodeGateway } from '../workload/index.ts'

interface JobLogStreamOptions {
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
interface SourceProgress {
  readonly lines: LineSplitter
  wasOpened: boolean
  /** Position in the log; undefined before the first frame. */
  offset: LogOffset | undefined
  /** Consecutive stream failures without a byte of output in between. */
  failures: number
}

const CONNECTION_LOST = 'the connection to the node was lost'

/**
 * Maximum number of retries. A node that restarts returns within seconds; after some minutes it is
 * treated as lost.
 */
const RETRIES_MAX = 12
const RETRY_MS_MIN = 250
const RETRY_MS_MAX = 30_000

/**
 * Merges the output of many tasks. Without `follow` it is read source by source; with `follow` it
 * is written as it arrives, and new sources are added. A slow reader applies backpressure to all
 * sources.
 */
export class JobLogStream {
  readonly output: Readable
  readonly #options: JobLogStreamOptions
  readonly #startedKeys = new Set<string>()
  readonly #streams = new Set<StreamSocket>()
  /** Number of sources that are being opened or read. */
  #activeCount = 0
  #isFirstRound = true
  #hasEnded = false
  #isPaused = false
  #cancelWatch: () => void = () => undefined

  constructor(options: JobLogStreamOptions) {
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
    if (this.#options.follow) this.#startNewSources()
    else void this.#readAll()
  }

  async #readAll(): Promise<void> {
    for (const source of this.#options.sources()) {
      if (this.output.destroyed) return
      await this.#copySource(source, this.#options.from)
    }
    this.output.push(null)
  }

  /** Starts new sources, now and whenever they change, until the output is complete. */
  #startNewSources(): void {
    if (this.output.destroyed || this.#hasEnded) return
    const from = this.#isFirstRound ? this.#options.from : { offset: 0, origin: 'start' as const }
    this.#isFirstRound = false
    for (const source of this.#options.sources()) {
      if (this.#activeCount >= LIMITS.jobLogSourcesMax) break
      if (this.#startedKeys.has(source.key)) continue
      this.#startedKeys.add(source.key)
      this.#activeCount += 1
      void this.#copySource(source, from).finally(() => {
        this.#activeCount -= 1
        // A source that had to wait may start now.
        this.#startNewSources()
      })
    }
    this.#cancelWatch()
    this.#cancelWatch = this.#options.watch(() => this.#startNewSources())
    this.#endIfOver()
  }

  #endIfOver(): void {
    if (this.output.destroyed || this.#activeCount > 0 || !this.#options.isOver()) return
    this.#cancelWatch()
    this.#hasEnded = true
    this.output.push(null)
  }

  /**
   * Reads a source; resolves when it has ended. With `follow` a broken stream is resumed where it
   * ended.
   */
  async #copySource(source: LogSource, from: JobLogStreamOptions['from']): Promise<void> {
    const { allocation, task, type } = source
    const name = `${allocation.slice(0, 8)} ${task}`
    const reading: SourceProgress = {
      lines: new LineSplitter(this.#options.hasPrefix ? `${name}: ` : ''),
      wasOpened: false,
      offset: undefined,
      failures: 0,
    }
    const problem = await this.#readToEnd(source, from, reading)
    this.#push(reading.lines.end())
    if (problem !== undefined) this.#push(sourceNotice(name, type, problem))
  }

  /** Reads a source to its end. Returns the reason if that failed. */
  async #readToEnd(
    source: LogSource,
    from: JobLogStreamOptions['from'],
    reading: SourceProgress,
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
      } else if (!reading.wasOpened && !this.#shouldAwaitNode(opened.error))
        return opened.error.message
      if (!(await this.#waitForRetry(reading))) return CONNECTION_LOST
    }
  }

  /** Reports whether to wait for a node that is reconnecting after a restart of the server. */
  #shouldAwaitNode({ code }: Refusal): boolean {
    return this.#options.follow && code === 'node-connecting'
  }

  #open(
    { allocation, task, type, nodeId }: LogSource,
    from: JobLogStreamOptions['from'],
    reading: SourceProgress,
  ) {
    const { gateway, accessorId, follow } = this.#options
    const resume = reading.offset === undefined ? {} : { resume: reading.offset }
    const logRequest = { verb: 'logs', allocation, task, type, ...from, ...resume } as const
    // A followed stream may have to be resumed: frames carry the offset.
    return gateway.open(nodeId, { request: { ...logRequest, follow, framed: follow }, accessorId })
  }

  /** Waits before the next attempt; false if there is none. */
  async #waitForRetry(reading: SourceProgress): Promise<boolean> {
    const { follow, clock } = this.#options
    reading.failures += 1
    if (!follow || reading.failures > RETRIES_MAX || this.output.destroyed) return false
    // The node may have been stopped together with the job: one attempt is enough then.
    if (this.#options.isOver() && reading.failures > 1) return false
    const { promise, resolve } = Promise.withResolvers<void>()
    const waitMs = Math.min(RETRY_MS_MAX, RETRY_MS_MIN * 2 ** (reading.failures - 1))
    const cancel = clock.after(waitMs, resolve)
    this.output.once('close', resolve)
    await promise
    cancel()
    this.output.off('close', resolve)
    return !this.output.destroyed
  }

  /** Reads a stream; resolves with its close code. */
  #read(stream: StreamSocket, reading: SourceProgress): Promise<number> {
    const { promise, resolve } = Promise.withResolvers<number>()
    const { follow } = this.#options
    this.#streams.add(stream)
    stream.onClose((code) => {
      this.#streams.delete(stream)
      resolve(code)
    })
    if (this.output.destroyed) stream.close(1001)
    stream.onMessage((data) => {
      const part = follow ? decodeLogFrame(data) : { bytes: Buffer.from(data), offset: undefined }
      if (part === undefined) return stream.terminate()
      reading.offset = part.offset ?? reading.offset
      if (part.bytes.length > 0) reading.failures = 0
      this.#push(reading.lines.add(part.bytes))
    })
    if (this.#isPaused) stream.pause()
    return promise
  }

  #push(bytes: Buffer): void {
    if (bytes.length === 0 || this.output.destroyed || this.#hasEnded) return
    if (this.output.push(bytes)) return
    this.#isPaused = true
    for (const stream of this.#streams) stream.pause()
  }

  #resume(): void {
    this.#isPaused = false
    for (const stream of this.#streams) stream.resume()
  }

  #stop(): void {
    this.#cancelWatch()
    for (const stream of this.#streams) stream.close(1001, 'the caller has gone')
  }
}

/** Returns a line about a source, which its prefix distinguishes from output. */
function sourceNotice(name: string, type: string, text: string): Buffer {
  return Buffer.from(`# ${name} ${type}: ${text}\n`)
}

const NEWLINE = 0x0a

/**
 * Splits the bytes of a source into complete lines, so that lines of several sources can be merged.
 * A line above the size limit is returned in parts.
 */
export class LineSplitter {
  readonly #prefix: Buffer
  #incomplete: Buffer[] = []
  #incompleteBytes = 0
  #isLineOpen = false

  constructor(prefix: string) {
    this.#prefix = Buffer.from(prefix)
  }

  /** Adds bytes and returns the lines that they complete; empty if there are none. */
  add(bytes: Buffer): Buffer {
    const last = bytes.lastIndexOf(NEWLINE)
    if (last < 0) {
      this.#append(bytes)
      return this.#incompleteBytes < LIMITS.jobLogLineBytesMax ? NO_BYTES : this.#take(false)
    }
    this.#append(bytes.subarray(0, last + 1))
    const completeLines = this.#take(true)
    this.#append(bytes.subarray(last + 1))
    return completeLines
  }

  /** Returns the last line, with a newline if it lacks one. */
  end(): Buffer {
    if (this.#incompleteBytes === 0 && !this.#isLineOpen) return NO_BYTES
    this.#append(Buffer.of(NEWLINE))
    return this.#take(true)
  }

  #append(bytes: Buffer): void {
    if (bytes.length === 0) return
    // Copied: a slice would keep the whole message in memory.
    this.#incomplete.push(Buffer.from(bytes))
    this.#incompleteBytes += bytes.length
  }

  #take(endsLine: boolean): Buffer {
    const bytes = Buffer.concat(this.#incomplete)
    const begins = !this.#isLineOpen
    this.#incomplete = []
    this.#incompleteBytes = 0
    this.#isLineOpen = !endsLine
    return this.#prefix.length === 0 ? bytes : withPrefix(bytes, this.#prefix, begins)
  }
}

const NO_BYTES = Buffer.alloc(0)

function withPrefix(bytes: Buffer, prefix: Buffer, startsLine: boolean): Buffer {
  const parts: Buffer[] = []
  let position = 0
  let isLineStart = startsLine
  while (position < bytes.length) {
    const found = bytes.indexOf(NEWLINE, position)
    const end = found < 0 ? bytes.length : found + 1
    if (isLineStart) parts.push(prefix)
    parts.push(bytes.subarray(position, end))
    isLineStart = true
    position = end
  }
  return Buffer.concat(parts)
}

/** Position in a log: the number of one of its files and a byte offset in it. */
type LogOffset = NonNullable<Extract<NodeStreamRequest, { verb: 'logs' }>['resume']>

/** A chunk of a log, from one message of a node. */
interface LogChunk {
  readonly bytes: Buffer
  /** Position after the chunk; undefined if the message has none. */
  readonly offset: LogOffset | undefined
}

/**
 * Decodes a log frame of a node; undefined if it is invalid. Nodes are not trusted: only the bytes
 * and two numbers are used.
 */
function decodeLogFrame(data: Uint8Array): LogChunk | undefined {
  let frame: unknown
  try {
    frame = JSON.parse(Buffer.from(data).toString('utf8'))
  } catch {
    // Invalid JSON is not a frame.
    return undefined
  }
  if (typeof frame !== 'object' || frame === null) return undefined
  const text: unknown = Reflect.get(frame, 'Data') ?? ''
  const file: unknown = Reflect.get(frame, 'File') ?? ''
  const offset: unknown = Reflect.get(frame, 'Offset') ?? 0
  if (typeof text !== 'string' || typeof file !== 'string' || typeof offset !== 'number')
    return undefined
  const number = /\.(\d{1,15})$/.exec(file)?.[1]
  const hasOffset = number !== undefined && Number.isSafeInteger(offset) && offset >= 0
  return {
    bytes: Buffer.from(text, 'base64'),
    offset: hasOffset ? { file: Number(number), offset } : undefined,
  }
}
