import type { Clock } from '@reeve/kit/clock.ts'
import { TokenBucket } from '@reeve/kit/token-bucket.ts'
import { LIMITS } from '../../model/index.ts'

/**
 * Limits the bytes that node streams transfer per caller. Without a limit, streams that are not
 * read fill the kernel buffers of their connections, several megabytes each, and 100 of them block
 * server and node for seconds.
 */
export class StreamRateLimiter {
  readonly #clock: Clock
  readonly #buckets = new Map<string, TokenBucket>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Records transferred bytes of a caller. @returns how long to pause its streams */
  consume(accessorId: string, bytes: number): number {
    const nowMs = this.#clock.monotonicMs()
    const bucket = this.#buckets.get(accessorId) ?? this.#createBucket(accessorId, nowMs)
    bucket.take(bytes, nowMs)
    return bucket.waitMs(nowMs)
  }

  /** Number of callers with recently read streams. */
  get size(): number {
    return this.#buckets.size
  }

  /** Returns the bucket of a caller; full buckets are dropped. */
  #createBucket(accessorId: string, nowMs: number): TokenBucket {
    for (const [id, bucket] of this.#buckets) if (bucket.isFull(nowMs)) this.#buckets.delete(id)
    const { nodeStreamBytesPerSecond, nodeStreamBytesBurst } = LIMITS
    const bucket = new TokenBucket(nodeStreamBytesPerSecond, nodeStreamBytesBurst, nowMs)
    this.#buckets.set(accessorId, bucket)
    return bucket
  }
}
