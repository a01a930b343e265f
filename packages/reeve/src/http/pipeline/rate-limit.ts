import type { Clock } from '@reeve/kit/clock.ts'

/** Tenants whose requests are counted at the same time. */
const TENANTS_MAX = 20_000

/** What a tenant has left, as the headers say it. */
export interface RateVerdict {
  readonly isAllowed: boolean
  readonly remaining: number
  /** Seconds until the next request is allowed; 0 when it is now. */
  readonly resetSeconds: number
  /** How long the response to a rejected request should be held back; 0 for most. */
  readonly rejectAfterMs: number
}

/**
 * Rejections of one tenant that are answered at once, and each second after those. A client that
 * ignores them would otherwise get them as fast as the server can write, which is as expensive as
 * what it asks for. None is held back longer than `heldMsMax`.
 */
export const REJECTIONS = { burst: 100, perSecond: 200, heldMsMax: 1_000 } as const

interface Bucket {
  /** Requests that may still be made. */
  left: number
  sinceMs: number
  /** When the latest rejection is answered, at the pace of rejections. */
  rejectedMs: number
}

/**
 * A token bucket for each tenant: so many requests each second, of which a second's worth may come
 * at once.
 */
export class RateLimit {
  readonly perSecond: number
  readonly #clock: Clock
  readonly #buckets = new Map<string, Bucket>()

  constructor(clock: Clock, perSecond: number) {
    this.#clock = clock
    this.perSecond = perSecond
  }

  /** Counts a request. */
  take(tenant: string): RateVerdict {
    const nowMs = this.#clock.monotonicMs()
    const bucket = this.#bucketOf(tenant, nowMs)
    const gained = (Math.max(0, nowMs - bucket.sinceMs) * this.perSecond) / 1_000
    bucket.left = Math.min(this.perSecond, bucket.left + gained)
    bucket.sinceMs = nowMs
    const isAllowed = bucket.left >= 1
    if (isAllowed) bucket.left--
    const missing = Math.max(0, 1 - bucket.left)
    return {
      isAllowed,
      remaining: Math.floor(bucket.left),
      resetSeconds: missing / this.perSecond,
      rejectAfterMs: isAllowed ? 0 : holdBack(bucket, nowMs),
    }
  }

  /** Requests of the tenant that has used most of its rate in the last second. */
  busiest(): number {
    const nowMs = this.#clock.monotonicMs()
    let used = 0
    for (const { left, sinceMs } of this.#buckets.values()) {
      const gained = (Math.max(0, nowMs - sinceMs) * this.perSecond) / 1_000
      used = Math.max(used, this.perSecond - left - gained)
    }
    return Math.ceil(used)
  }

  #bucketOf(tenant: string, nowMs: number): Bucket {
    const existing = this.#buckets.get(tenant)
    if (existing !== undefined) return existing
    if (this.#buckets.size >= TENANTS_MAX) this.#evict(nowMs)
    const bucket = { left: this.perSecond, sinceMs: nowMs, rejectedMs: 0 }
    this.#buckets.set(tenant, bucket)
    return bucket
  }

  /** Drops tenants that were idle for a second, whose buckets are full; else the oldest ones. */
  #evict(nowMs: number): void {
    for (const [tenant, { sinceMs }] of this.#buckets)
      if (nowMs - sinceMs >= 1_000) this.#buckets.delete(tenant)
    for (const tenant of this.#buckets.keys()) {
      if (this.#buckets.size < TENANTS_MAX) return
      this.#buckets.delete(tenant)
    }
  }
}

/** Spreads the rejections of a tenant; those that come after a pause are answered at once. */
function holdBack(bucket: Bucket, nowMs: number): number {
  const { burst, perSecond, heldMsMax } = REJECTIONS
  const intervalMs = 1_000 / perSecond
  const earliestMs = nowMs - burst * intervalMs
  const nextMs = Math.max(bucket.rejectedMs, earliestMs) + intervalMs
  bucket.rejectedMs = Math.min(nextMs, nowMs + heldMsMax)
  return Math.max(0, bucket.rejectedMs - nowMs)
}
