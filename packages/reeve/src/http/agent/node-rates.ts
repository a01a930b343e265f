import type { Clock } from '@reeve/kit/clock.ts'
import { TokenBucket } from '@reeve/kit/token-bucket.ts'
import { LIMITS } from '../../model/index.ts'
import type { NodeAdmission } from '../../workload/index.ts'

/** The part of `LIMITS.nodeOverloadMsMax` that a node may spend waiting before it is cut off. */
const WAITED_SHARE_MAX = 0.8

/**
 * What one connection of a node may send. A node that sends more is read more slowly, which TCP
 * makes it feel and nobody else; one that does not become slower is cut off.
 */
export class NodeRate {
  readonly #messages: TokenBucket
  readonly #bytes: TokenBucket
  readonly #heartbeats: TokenBucket
  #windowStartMs: number
  /** How long reading was stopped since then, and until when it is. */
  #waitedMs = 0
  #waitsUntilMs = 0

  constructor(nowMs: number) {
    const { nodeMessagesPerSecond, nodeMessagesBurst, nodeBytesPerSecond, nodeBytesBurst } = LIMITS
    this.#messages = new TokenBucket(nodeMessagesPerSecond, nodeMessagesBurst, nowMs)
    this.#bytes = new TokenBucket(nodeBytesPerSecond, nodeBytesBurst, nowMs)
    const { nodeHeartbeatsPerSecond, nodeHeartbeatsBurst } = LIMITS
    this.#heartbeats = new TokenBucket(nodeHeartbeatsPerSecond, nodeHeartbeatsBurst, nowMs)
    this.#windowStartMs = nowMs
  }

  /**
   * Counts a message. Gives how long nothing more should be read, or `cut-off` for a node that
   * had to wait for most of the time since long.
   */
  received(bytes: number, nowMs: number): number | 'cut-off' {
    this.#messages.take(1, nowMs)
    this.#bytes.take(bytes, nowMs)
    const waitMs = Math.max(this.#messages.waitMs(nowMs), this.#bytes.waitMs(nowMs))
    const untilMs = Math.max(this.#waitsUntilMs, nowMs + waitMs)
    this.#waitedMs += untilMs - Math.max(this.#waitsUntilMs, nowMs)
    this.#waitsUntilMs = untilMs
    if (nowMs - this.#windowStartMs < LIMITS.nodeOverloadMsMax) return waitMs
    const share = this.#waitedMs / (nowMs - this.#windowStartMs)
    this.#windowStartMs = nowMs
    this.#waitedMs = 0
    return share > WAITED_SHARE_MAX ? 'cut-off' : waitMs
  }

  /** False for a heartbeat that is not worth an answer. */
  takesHeartbeat(nowMs: number): boolean {
    return this.#heartbeats.tryTake(1, nowMs)
  }

  /** What the node was asked for is the caller's doing, whatever its size. */
  refund(bytes: number, nowMs: number): void {
    this.#messages.take(-1, nowMs)
    this.#bytes.take(-bytes, nowMs)
  }
}

/** Nodes that were cut off, until when they are refused. */
export class NodePenalties {
  readonly #untilMs = new Map<string, number>()

  add(nodeId: string, nowMs: number): void {
    if (this.#untilMs.size >= KEYS_MAX) this.#forget(nowMs)
    this.#untilMs.set(nodeId, nowMs + LIMITS.nodePenaltyMs)
  }

  /** How long the node is still refused; 0 when it is not. */
  waitMs(nodeId: string, nowMs: number): number {
    const untilMs = this.#untilMs.get(nodeId) ?? 0
    if (untilMs <= nowMs) this.#untilMs.delete(nodeId)
    return Math.max(0, untilMs - nowMs)
  }

  #forget(nowMs: number): void {
    for (const [nodeId, untilMs] of this.#untilMs)
      if (untilMs <= nowMs) this.#untilMs.delete(nodeId)
    // So many nodes were cut off within a minute: those that go on are cut off again.
    if (this.#untilMs.size >= KEYS_MAX) this.#untilMs.clear()
  }
}

/** Addresses and nodes that are remembered at once; those that wait for nothing are forgotten. */
const KEYS_MAX = 20_000

/** Bounds how many nodes this server admits that no server has known before. */
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

  /** Counts a new node. Gives why it has to wait; undefined when it is admitted. */
  take(address: string): string | undefined {
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
    const known = this.#byAddress.get(address)
    if (known !== undefined) return known
    if (this.#byAddress.size >= KEYS_MAX) this.#forget(nowMs)
    const bucket = perMinute(this.#settings.newNodesPerAddressMax, nowMs)
    this.#byAddress.set(address, bucket)
    return bucket
  }

  /** A full bucket is as good as a new one. The bound on all nodes holds for any addresses. */
  #forget(nowMs: number): void {
    for (const [address, bucket] of this.#byAddress)
      if (bucket.isFull(nowMs)) this.#byAddress.delete(address)
    if (this.#byAddress.size >= KEYS_MAX) this.#byAddress.clear()
  }
}

function perMinute(count: number, nowMs: number): TokenBucket {
  return new TokenBucket(count / 60, count, nowMs)
}
