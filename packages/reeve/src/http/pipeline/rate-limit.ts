import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '@reeve/kit/clock.ts'
import { requestId } from '../request-normalization.ts'
import { codeOfStatus, ERROR_CODE_HEADER, HttpError, TEXT_PLAIN } from '../response.ts'

/** Maximum number of tenants with a bucket. */
const TENANTS_MAX = 20_000

/** Outcome of counting a request, for the rate limit headers. */
interface RateLimitResult {
  readonly isAllowed: boolean
  readonly remaining: number
  /** Seconds until the next request is allowed; 0 if one is allowed now. */
  readonly resetSeconds: number
  /** Delay of the response to a rejected request; 0 for most. */
  readonly rejectAfterMs: number
}

/**
 * Rejections of one tenant that are sent without delay, and per second after those. A client that
 * ignores them would otherwise get them as fast as the server can write, which is as expensive as
 * answering its requests. None is delayed by more than `heldMsMax`.
 */
export const REJECTION_PACE = { burst: 100, perSecond: 200, heldMsMax: 1_000 } as const

interface Bucket {
  /** Remaining requests. */
  tokens: number
  sinceMs: number
  /** Time at which the latest rejection is sent, at the pace of rejections. */
  rejectedMs: number
}

/**
 * A token bucket per tenant: a number of requests per second, with a burst of one second's worth.
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
  take(tenant: string): RateLimitResult {
    const nowMs = this.#clock.monotonicMs()
    const bucket = this.#bucketOf(tenant, nowMs)
    const refilled = (Math.max(0, nowMs - bucket.sinceMs) * this.perSecond) / 1_000
    bucket.tokens = Math.min(this.perSecond, bucket.tokens + refilled)
    bucket.sinceMs = nowMs
    const isAllowed = bucket.tokens >= 1
    if (isAllowed) bucket.tokens--
    const missing = Math.max(0, 1 - bucket.tokens)
    return {
      isAllowed,
      remaining: Math.floor(bucket.tokens),
      resetSeconds: missing / this.perSecond,
      rejectAfterMs: isAllowed ? 0 : rejectionDelayMs(bucket, nowMs),
    }
  }

  /** Returns the requests of the tenant that has used most of its rate in the last second. */
  busiest(): number {
    const nowMs = this.#clock.monotonicMs()
    let used = 0
    for (const { tokens, sinceMs } of this.#buckets.values()) {
      const refilled = (Math.max(0, nowMs - sinceMs) * this.perSecond) / 1_000
      used = Math.max(used, this.perSecond - tokens - refilled)
    }
    return Math.ceil(used)
  }

  #bucketOf(tenant: string, nowMs: number): Bucket {
    const existing = this.#buckets.get(tenant)
    if (existing !== undefined) return existing
    if (this.#buckets.size >= TENANTS_MAX) this.#evict(nowMs)
    const bucket = { tokens: this.perSecond, sinceMs: nowMs, rejectedMs: 0 }
    this.#buckets.set(tenant, bucket)
    return bucket
  }

  /**
   * Drops the buckets of tenants that were idle for a second, which are full; else the oldest ones.
   */
  #evict(nowMs: number): void {
    for (const [tenant, { sinceMs }] of this.#buckets)
      if (nowMs - sinceMs >= 1_000) this.#buckets.delete(tenant)
    for (const tenant of this.#buckets.keys()) {
      if (this.#buckets.size < TENANTS_MAX) return
      this.#buckets.delete(tenant)
    }
  }
}

/** Returns the delay of a rejection, which spreads those of one tenant; none after a pause. */
function rejectionDelayMs(bucket: Bucket, nowMs: number): number {
  const { burst, perSecond, heldMsMax } = REJECTION_PACE
  const intervalMs = 1_000 / perSecond
  const earliestMs = nowMs - burst * intervalMs
  const nextMs = Math.max(bucket.rejectedMs, earliestMs) + intervalMs
  bucket.rejectedMs = Math.min(nextMs, nowMs + heldMsMax)
  return Math.max(0, bucket.rejectedMs - nowMs)
}

/** Reason for a rejection, and the delay of its response. */
export interface RateRejection {
  readonly message: string
  readonly retrySeconds: number
  readonly delayMs: number
}

const TOO_MANY_REQUESTS = 429

/** Returns the problem as an error, for requests that pass through Fastify. */
export function rateError({ message, retrySeconds }: RateRejection): HttpError {
  return new HttpError(TOO_MANY_REQUESTS, message, { 'retry-after': String(retrySeconds) })
}

/**
 * Reports whether a request can be rejected by a few writes: it has no body to discard, its
 * connection waits for no other response, and it comes neither from a page nor from JSON:API, whose
 * responses need more.
 */
export function canRejectEarly(request: IncomingMessage, response: ServerResponse): boolean {
  const { headers, url = '' } = request
  return (
    response.socket !== null &&
    headers['content-length'] === undefined &&
    headers['transfer-encoding'] === undefined &&
    headers.origin === undefined &&
    !url.startsWith('/api/v2/')
  )
}

/** Rejects a request without Fastify; its connection stays open. */
export function sendRateRejection(
  { request, response }: { readonly request: IncomingMessage; readonly response: ServerResponse },
  { message, retrySeconds }: RateRejection,
  sharedHeaders: readonly string[],
): void {
  response.writeHead(TOO_MANY_REQUESTS, [
    ...sharedHeaders,
    'x-request-id',
    requestId(request.headers['x-request-id']),
    ERROR_CODE_HEADER,
    codeOfStatus(TOO_MANY_REQUESTS),
    'retry-after',
    String(retrySeconds),
    'content-type',
    TEXT_PLAIN,
    'content-length',
    String(Buffer.byteLength(message)),
  ])
  response.end(message)
}
