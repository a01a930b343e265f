import type { Clock } from '@reeve/kit/clock.ts'
import { LIMITS } from '../../model/index.ts'
import { NodeRate } from './node-rates.ts'

interface NodeInboxOptions {
  readonly clock: Clock
  /** Stops and goes on reading the connection. */
  readonly socket: { pause(): void; resume(): void }
  /** Handles one message; the next one waits for it. */
  handle(bytes: Buffer): Promise<void>
  /** The peer has sent more than it may for too long. */
  overloaded(): void
  failed(thrown: unknown): void
}

/** As agents write it; other spellings are read as any message. */
const HEARTBEAT = Buffer.from('{"kind":"heartbeat"}')

/**
 * What one node has sent and what is not handled yet: in order, one message at a time. Reading
 * stops while the node is over its rate or too many messages wait, so that a flood costs the node
 * that sends it and nobody else.
 */
export class NodeInbox {
  readonly #options: NodeInboxOptions
  readonly #rate: NodeRate
  readonly #queue: Buffer[] = []
  #isBusy = false
  #isClosed = false
  #isQueueFull = false
  #cancelWait: (() => void) | undefined

  constructor(options: NodeInboxOptions) {
    this.#options = options
    this.#rate = new NodeRate(options.clock.monotonicMs())
  }

  put(bytes: Buffer): void {
    if (this.#isClosed) return
    const nowMs = this.#options.clock.monotonicMs()
    const waitMs = this.#rate.received(bytes.length, nowMs)
    if (waitMs === 'cut-off') return this.#options.overloaded()
    if (waitMs > 0) this.#waitFor(waitMs)
    // Dropped before it is parsed and answered: those before it have shown that the node is alive.
    if (bytes.equals(HEARTBEAT) && !this.#rate.takesHeartbeat(nowMs)) return
    this.#queue.push(bytes)
    if (this.#queue.length >= LIMITS.nodeMessagesQueuedMax) this.#setQueueFull(true)
    if (!this.#isBusy) void this.#work()
  }

  /** Takes the next message out of its turn, if it begins so. */
  takeIf(prefix: Buffer): Buffer | undefined {
    const next = this.#queue[0]
    if (next === undefined || !next.subarray(0, prefix.length).equals(prefix)) return undefined
    return this.#queue.shift()
  }

  /** The message was an answer to a request: it does not count against the node. */
  refund(bytes: Buffer): void {
    this.#rate.refund(bytes.length, this.#options.clock.monotonicMs())
  }

  /** Nothing is handled any more. The connection is read on, so that its end is noticed. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#queue.length = 0
    this.#cancelWait?.()
    this.#cancelWait = undefined
    this.#isQueueFull = false
    this.#options.socket.resume()
  }

  async #work(): Promise<void> {
    this.#isBusy = true
    try {
      for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
        await this.#options.handle(next)
        if (this.#isQueueFull && this.#queue.length < LIMITS.nodeMessagesQueuedMax / 2)
          this.#setQueueFull(false)
      }
    } catch (thrown) {
      this.#options.failed(thrown)
    } finally {
      this.#isBusy = false
    }
  }

  #waitFor(waitMs: number): void {
    this.#cancelWait?.()
    this.#cancelWait = this.#options.clock.after(waitMs, () => {
      this.#cancelWait = undefined
      this.#readOn()
    })
    this.#options.socket.pause()
  }

  #setQueueFull(isFull: boolean): void {
    this.#isQueueFull = isFull
    if (isFull) this.#options.socket.pause()
    else this.#readOn()
  }

  #readOn(): void {
    const isHeld = this.#cancelWait !== undefined || this.#isQueueFull
    if (!isHeld && !this.#isClosed) this.#options.socket.resume()
  }
}
