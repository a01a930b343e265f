import type { Clock } from '@reeve/kit/clock.ts'
import { TokenBucket } from '@reeve/kit/token-bucket.ts'
import { LIMITS } from '../../model/index.ts'
import type { NodeAdmission } from '../../workload/index.ts'

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

/** Nodes that were cut off, with the end of their penalty. */
export class NodePenalties {
  readonly #untilMs = new Map<string, number>()

  add(nodeId: string, nowMs: number): void {
    if (this.#untilMs.size >= ENTRIES_MAX) this.#deleteExpired(nowMs)
    this.#untilMs.set(nodeId, nowMs + LIMITS.nodePenaltyMs)
  }

  /** Returns the remaining penalty of a node; 0 if there is none. */
  remainingMs(nodeId: string, nowMs: number): number {
    const untilMs = this.#untilMs.get(nodeId) ?? 0
    if (untilMs <= nowMs) this.#untilMs.delete(nodeId)
    return Math.max(0, untilMs - nowMs)
  }

  #deleteExpired(nowMs: number): void {
    for (const [nodeId, untilMs] of this.#untilMs)
      if (untilMs <= nowMs) this.#untilMs.delete(nodeId)
    // This many nodes were cut off within a minute: those that continue are cut off again.
    if (this.#untilMs.size >= ENTRIES_MAX) this.#untilMs.clear()
  }
}

/** Maximum number of addresses or nodes kept at once; entries without a penalty are dropped. */
const ENTRIES_MAX = 20_000

/** Limits how many previously unknown nodes this server registers. */
export class NewNodeLimit {
  readonly #clock: Clock
  readonly #settings: NodeAdmission
  readonly #all: TokenBucket
  readonly #byAddress = new Map<string, TokenBucket>()

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
    if (this.#byAddress.size >= ENTRIES_MAX) this.#deleteFull(nowMs)
    const bucket = perMinute(this.#settings.newNodesPerAddressMax, nowMs)
    this.#byAddress.set(address, bucket)
    return bucket
  }

  /**
   * Drops full buckets, which equal new ones. The limit over all nodes does not depend on
   * addresses.
   */
  #deleteFull(nowMs: number): void {
    for (const [address, bucket] of this.#byAddress)
      if (bucket.isFull(nowMs)) this.#byAddress.delete(address)
    if (this.#byAddress.size >= ENTRIES_MAX) this.#byAddress.clear()
  }
}

function perMinute(count: number, nowMs: number): TokenBucket {
  return new TokenBucket(count / 60, count, nowMs)
}
