import type { Clock } from '@reeve/kit/clock.ts'
import { LruCache } from '@reeve/kit/lru-cache.ts'
import { TokenBucket } from '@reeve/kit/token-bucket.ts'
import { LIMITS } from '../model/index.ts'
import type { NodeAdmission } from '../workload/index.ts'

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

/**
 * Fraction of `LIMITS.nodeOverloadMsMax` for which reading may be paused before the node is cut
 * off.
 */
const PAUSED_SHARE_MAX = 0.8

/**
 * Rate limit of one node's connection. A node that exceeds it is read more slowly, so that TCP
 * slows down the sender alone; a node that still does not slow down is cut off.
 */
export class NodeRate {
  readonly #messages: TokenBucket
  readonly #bytes: TokenBucket
  readonly #heartbeats: TokenBucket
  #windowStartMs: number
  /** Total pause since the start of the window, and when the current pause ends. */
  #pausedMs = 0
  #pausedUntilMs = 0

  constructor(nowMs: number) {
    const { nodeMessagesPerSecond, nodeMessagesBurst, nodeBytesPerSecond, nodeBytesBurst } = LIMITS
    this.#messages = new TokenBucket(nodeMessagesPerSecond, nodeMessagesBurst, nowMs)
    this.#bytes = new TokenBucket(nodeBytesPerSecond, nodeBytesBurst, nowMs)
    const { nodeHeartbeatsPerSecond, nodeHeartbeatsBurst } = LIMITS
    this.#heartbeats = new TokenBucket(nodeHeartbeatsPerSecond, nodeHeartbeatsBurst, nowMs)
    this.#windowStartMs = nowMs
  }

  /**
   * Counts a message. Returns for how long reading should pause, or `cut-off` for a node whose
   * reading was paused for most of the window.
   */
  recordMessage(bytes: number, nowMs: number): number | 'cut-off' {
    this.#messages.take(1, nowMs)
    this.#bytes.take(bytes, nowMs)
    const waitMs = Math.max(this.#messages.waitMs(nowMs), this.#bytes.waitMs(nowMs))
    const untilMs = Math.max(this.#pausedUntilMs, nowMs + waitMs)
    this.#pausedMs += untilMs - Math.max(this.#pausedUntilMs, nowMs)
    this.#pausedUntilMs = untilMs
    if (nowMs - this.#windowStartMs < LIMITS.nodeOverloadMsMax) return waitMs
    const share = this.#pausedMs / (nowMs - this.#windowStartMs)
    this.#windowStartMs = nowMs
    this.#pausedMs = 0
    return share > PAUSED_SHARE_MAX ? 'cut-off' : waitMs
  }

  /** Counts a heartbeat. Returns false if it needs no response. */
  takeHeartbeat(nowMs: number): boolean {
    return this.#heartbeats.tryTake(1, nowMs)
  }

  /** Returns the budget of a response, whose size depends on the server's request. */
  refund(bytes: number, nowMs: number): void {
    this.#messages.take(-1, nowMs)
    this.#bytes.take(-bytes, nowMs)
  }
}

/** Maximum number of nodes or addresses kept at once; the least recently used are dropped. */
const ENTRIES_MAX = 20_000

/** Nodes that were cut off, with the end of their penalty. */
export class NodePenalties {
  readonly #untilMs = new LruCache<string, number>({ weightMax: ENTRIES_MAX })

  add(nodeId: string, nowMs: number): void {
    this.#untilMs.set(nodeId, nowMs + LIMITS.nodePenaltyMs)
  }

  /** Returns the remaining penalty of a node; 0 if there is none. */
  remainingMs(nodeId: string, nowMs: number): number {
    const untilMs = this.#untilMs.get(nodeId) ?? 0
    if (untilMs <= nowMs) this.#untilMs.delete(nodeId)
    return Math.max(0, untilMs - nowMs)
  }
}

/** Minimum time between two log lines with the same cause. */
const LOG_INTERVAL_MS = 60_000

/**
 * Limits what nodes can write into the log of a server: a node that reconnects after each invalid
 * message would write hundreds of lines a second, and so would all nodes while the storage fails.
 */
export class NodeLogLimit {
  readonly #causes = new LruCache<string, { readonly loggedMs: number; suppressed: number }>({
    weightMax: ENTRIES_MAX,
  })

  /**
   * Returns how many lines of this cause were suppressed since the last one; undefined if this one
   * is to be suppressed as well.
   */
  take(cause: string, nowMs: number): number | undefined {
    const last = this.#causes.get(cause)
    if (last !== undefined && nowMs - last.loggedMs < LOG_INTERVAL_MS) {
      last.suppressed += 1
      return undefined
    }
    this.#causes.set(cause, { loggedMs: nowMs, suppressed: 0 })
    return last?.suppressed ?? 0
  }
}

/** Limits how many previously unknown nodes this server registers. */
export class NewNodeLimit {
  readonly #clock: Clock
  readonly #settings: NodeAdmission
  readonly #all: TokenBucket
  /** Addresses that tried last: one that keeps trying does not get a new bucket. */
  readonly #byAddress = new LruCache<string, TokenBucket>({ weightMax: ENTRIES_MAX })

  constructor(clock: Clock, settings: NodeAdmission) {
    this.#clock = clock
    this.#settings = settings
    this.#all = perMinute(settings.newNodesPerMinuteMax, clock.monotonicMs())
  }

  /** Counts a new node. Returns the reason for refusing it; undefined if it is admitted. */
  admit(address: string): string | undefined {
    const nowMs = this.#clock.monotonicMs()
    const { newNodesPerMinuteMax: max, newNodesPerAddressMax: addressMax } = this.#settings
    if (addressMax > 0 && !this.#bucketOf(address, nowMs).tryTake(1, nowMs))
      return (
        `more than ${addressMax} new nodes a minute came from ${address} ` +
        '(server.max_new_nodes_per_minute_per_address); this one is admitted when it retries later'
      )
    if (max > 0 && !this.#all.tryTake(1, nowMs))
      return (
        `this server admits ${max} new nodes a minute (server.max_new_nodes_per_minute); ` +
        'this one is admitted when it retries later'
      )
    return undefined
  }

  #bucketOf(address: string, nowMs: number): TokenBucket {
    const existing = this.#byAddress.get(address)
    if (existing !== undefined) return existing
    const bucket = perMinute(this.#settings.newNodesPerAddressMax, nowMs)
    this.#byAddress.set(address, bucket)
    return bucket
  }
}

function perMinute(count: number, nowMs: number): TokenBucket {
  return new TokenBucket(count / 60, count, nowMs)
}
