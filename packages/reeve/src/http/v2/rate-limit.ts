import type { Clock } from '../../kit/clock.ts'

/** Callers that are remembered at once; beyond it those that wait for nothing are forgotten. */
const CALLERS_MAX = 20_000

/** What a caller has left, as the headers say it. */
export interface RateVerdict {
  readonly isAllowed: boolean
  readonly remaining: number
  /** Seconds until the next request is allowed; 0 when it is now. */
  readonly resetSeconds: number
}

interface Bucket {
  /** Requests that may still be made. */
  left: number
  sinceMs: number
}

/**
 * Reference §1.7: so many requests each second for one user, all its tokens together, or for one
 * address without a token. A second's worth may come at once. Why the default is 100 and not 30:
 * docs/governance.md.
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
  take(caller: string): RateVerdict {
    const nowMs = this.#clock.nowMs()
    const bucket = this.#bucketOf(caller, nowMs)
    const gained = (Math.max(0, nowMs - bucket.sinceMs) * this.perSecond) / 1_000
    bucket.left = Math.min(this.perSecond, bucket.left + gained)
    bucket.sinceMs = nowMs
    const isAllowed = bucket.left >= 1
    if (isAllowed) bucket.left--
    const missing = Math.max(0, 1 - bucket.left)
    return { isAllowed, remaining: Math.floor(bucket.left), resetSeconds: missing / this.perSecond }
  }

  #bucketOf(caller: string, nowMs: number): Bucket {
    const known = this.#buckets.get(caller)
    if (known !== undefined) return known
    if (this.#buckets.size >= CALLERS_MAX) this.#forgetIdle(nowMs)
    const bucket = { left: this.perSecond, sinceMs: nowMs }
    this.#buckets.set(caller, bucket)
    return bucket
  }

  /** Who has asked for nothing in a second has all of its requests again: nothing is lost. */
  #forgetIdle(nowMs: number): void {
    for (const [caller, { sinceMs }] of this.#buckets)
      if (nowMs - sinceMs >= 1_000) this.#buckets.delete(caller)
    // All of them within one second: who floods from so many addresses is let off for once.
    if (this.#buckets.size >= CALLERS_MAX) this.#buckets.clear()
  }
}
