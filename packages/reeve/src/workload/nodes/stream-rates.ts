import type { Clock } from '@reeve/kit/clock.ts'
import { TokenBucket } from '@reeve/kit/token-bucket.ts'
import { LIMITS } from '../../model/index.ts'

/**
 * Bytes that streams of nodes bring for each caller. Without a bound, streams that nobody reads
 * fill the kernel's buffers of their connections, several megabytes each, and 100 of them keep the
 * server and the node from other work for seconds.
 */
export class StreamRates {
  readonly #clock: Clock
  readonly #buckets = new Map<string, TokenBucket>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Counts bytes of a caller. @returns how long its streams should not be read */
  spend(accessorId: string, bytes: number): number {
    const nowMs = this.#clock.monotonicMs()
    const bucket = this.#buckets.get(accessorId) ?? this.#begin(accessorId, nowMs)
    bucket.take(bytes, nowMs)
    return bucket.waitMs(nowMs)
  }

  /** Callers whose streams were read lately. */
  get size(): number {
    return this.#buckets.size
  }

  /** A bucket that is full again is as good as none. */
  #begin(accessorId: string, nowMs: number): TokenBucket {
    for (const [id, bucket] of this.#buckets) if (bucket.isFull(nowMs)) this.#buckets.delete(id)
    const { nodeStreamBytesPerSecond, nodeStreamBytesBurst } = LIMITS
    const bucket = new TokenBucket(nodeStreamBytesPerSecond, nodeStreamBytesBurst, nowMs)
    this.#buckets.set(accessorId, bucket)
    return bucket
  }
}
