import { Readable } from 'node:stream'
import type { StreamOrigin } from '@reeve/contract'
import type { StreamSocket } from '../../kit/stream-socket.ts'
import { LIMITS } from '../../model/index.ts'
import type { LogSource, NodeGateway } from '../../workload/index.ts'
import { LogLines } from './log-lines.ts'

interface LogMergeOptions {
  readonly gateway: NodeGateway
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

/**
 * The output of many tasks as one. What is only read comes source by source; what is followed comes
 * as it is written, and sources that appear are taken in. A reader that stops makes all of them
 * wait.
 */
export class LogMerge {
  readonly output: Readable
  readonly #options: LogMergeOptions
  readonly #seen = new Set<string>()
  readonly #open = new Set<StreamSocket>()
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

  /** Resolves when the source has ended. */
  async #take(source: LogSource, from: LogMergeOptions['from']): Promise<void> {
    const { gateway, accessorId, follow, hasPrefix } = this.#options
    const { allocation, task, type, nodeId } = source
    const request = {
      verb: 'logs',
      allocation,
      task,
      type,
      ...from,
      follow,
      framed: false,
    } as const
    const opened = await gateway.open(nodeId, { request, accessorId })
    const name = `${allocation.slice(0, 8)} ${task}`
    if (!opened.ok) {
      // A task that has no log has nothing to say; a node that cannot be asked may have.
      if (opened.error.code !== 'not-on-node') this.#push(note(name, type, opened.error.message))
      return
    }
    await this.#read(opened.value, source, new LogLines(hasPrefix ? `${name}: ` : ''))
  }

  #read(stream: StreamSocket, { allocation, task, type }: LogSource, lines: LogLines) {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#open.add(stream)
    stream.onClose((code) => {
      this.#open.delete(stream)
      this.#push(lines.end())
      const name = `${allocation.slice(0, 8)} ${task}`
      if (code !== 1000) this.#push(note(name, type, 'the connection to the node was lost'))
      resolve()
    })
    if (this.output.destroyed) stream.close(1001)
    stream.onMessage((data) => this.#push(lines.add(Buffer.from(data))))
    if (this.#isWaiting) stream.pause()
    return promise
  }

  #push(bytes: Buffer): void {
    if (bytes.length === 0 || this.output.destroyed || this.#hasEnded) return
    if (this.output.push(bytes)) return
    this.#isWaiting = true
    for (const stream of this.#open) stream.pause()
  }

  #resume(): void {
    this.#isWaiting = false
    for (const stream of this.#open) stream.resume()
  }

  #stop(): void {
    this.#cancelWatch()
    for (const stream of this.#open) stream.close(1001, 'the caller has gone')
  }
}

/** A line of ours among theirs, told apart by how it begins. */
function note(name: string, type: string, text: string): Buffer {
  return Buffer.from(`# ${name} ${type}: ${text}\n`)
}
