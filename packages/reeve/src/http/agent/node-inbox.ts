import type { Clock } from '@reeve/kit/clock.ts'
import { LIMITS } from '../../model/index.ts'
import { NodeRate } from './node-rates.ts'

interface NodeInboxOptions {
  readonly clock: Clock
  /** Pauses and resumes reading of the connection. */
  readonly socket: { pause(): void; resume(): void }
  /** Handles one message; the next one is handled after it. */
  handle(bytes: Buffer): Promise<void>
  /** Called when the peer has exceeded its rate for too long. */
  onOverload(): void
  onError(thrown: unknown): void
}

/** Heartbeat as agents write it; other spellings are parsed like any message. */
const HEARTBEAT_MESSAGE = Buffer.from('{"kind":"heartbeat"}')

/**
 * Queue of the messages of one node, handled in order and one at a time. Reading is paused while
 * the node exceeds its rate or too many messages are queued, so that a flood slows down only the
 * node that sends it.
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
    const waitMs = this.#rate.recordMessage(bytes.length, nowMs)
    if (waitMs === 'cut-off') return this.#options.onOverload()
    if (waitMs > 0) this.#pauseFor(waitMs)
    // Excess heartbeats are dropped unparsed: the earlier ones have shown that the node is alive.
    if (bytes.equals(HEARTBEAT_MESSAGE) && !this.#rate.takeHeartbeat(nowMs)) return
    this.#queue.push(bytes)
    if (this.#queue.length >= LIMITS.nodeMessagesQueuedMax) this.#setQueueFull(true)
    if (!this.#isBusy) void this.#handleQueued()
  }

  /** Removes and returns the next message if it starts with the prefix. */
  takeIf(prefix: Buffer): Buffer | undefined {
    const next = this.#queue[0]
    if (next === undefined || !next.subarray(0, prefix.length).equals(prefix)) return undefined
    return this.#queue.shift()
  }

  /** Returns the budget of a message that answers a request of the server. */
  refund(bytes: Buffer): void {
    this.#rate.refund(bytes.length, this.#options.clock.monotonicMs())
  }

  /** Drops all messages from now on. The connection is still read, so that its end is noticed. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#queue.length = 0
    this.#cancelWait?.()
    this.#cancelWait = undefined
    this.#isQueueFull = false
    this.#options.socket.resume()
  }

  async #handleQueued(): Promise<void> {
    this.#isBusy = true
    try {
      for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
        await this.#options.handle(next)
        if (this.#isQueueFull && this.#queue.length < LIMITS.nodeMessagesQueuedMax / 2)
          this.#setQueueFull(false)
      }
    } catch (thrown) {
      this.#options.onError(thrown)
    } finally {
      this.#isBusy = false
    }
  }

  #pauseFor(waitMs: number): void {
    this.#cancelWait?.()
    this.#cancelWait = this.#options.clock.after(waitMs, () => {
      this.#cancelWait = undefined
      this.#resumeIfAllowed()
    })
    this.#options.socket.pause()
  }

  #setQueueFull(isFull: boolean): void {
    this.#isQueueFull = isFull
    if (isFull) this.#options.socket.pause()
    else this.#resumeIfAllowed()
  }

  #resumeIfAllowed(): void {
    const isPaused = this.#cancelWait !== undefined || this.#isQueueFull
    if (!isPaused && !this.#isClosed) this.#options.socket.resume()
  }
}
