import type { Connection } from './call/connection.ts'
import { ApiError, ConnectionError } from './errors.ts'
import { LIMITS } from './limits.ts'
import { pause } from './timing.ts'

export interface RetryOptions {
  /** Called for every failed attempt that will be retried, with the delay. */
  readonly onRetry?: ((error: Error, delayMs: number) => void) | undefined
}

/** Counts the failures of an operation, and waits with exponential backoff between its attempts. */
export class Retries {
  readonly #connection: Connection
  readonly #signal: AbortSignal | undefined
  readonly #onRetry: RetryOptions['onRetry']
  #failures = 0

  constructor(
    connection: Connection,
    options: RetryOptions & { readonly signal?: AbortSignal | undefined },
  ) {
    this.#connection = connection
    this.#signal = options.signal
    this.#onRetry = options.onRetry
  }

  reset(): void {
    this.#failures = 0
  }

  /** Resolves when the next attempt is due; throws errors that a retry cannot fix. */
  async waitForRetry(error: unknown): Promise<void> {
    if (this.#signal?.aborted === true || !isTransient(error)) throw error
    const { timing } = this.#connection
    const requestedMs = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0
    const delayMs = Math.max(requestedMs, backoffMs(this.#failures, timing.random()))
    this.#failures += 1
    this.#onRetry?.(error, delayMs)
    await pause(timing, delayMs, this.#signal)
  }
}

/**
 * Reports whether a retry may succeed: a busy, starting or unreachable server may recover, while
 * rejections and malformed responses will not change.
 */
export function isTransient(error: unknown): error is ApiError | ConnectionError {
  if (error instanceof ApiError) return error.status === 429 || error.status >= 500
  if (!(error instanceof ConnectionError)) return false
  return error.reason !== 'redirect' && error.reason !== 'unreadable'
}

/**
 * Returns the exponential delay up to a limit, half of it random, so that clients that failed
 * together do not retry together.
 */
export function backoffMs(failures: number, random: number): number {
  const fullMs = Math.min(LIMITS.retryMsMax, LIMITS.retryMsMin * 2 ** Math.min(failures, 16))
  return Math.round(fullMs / 2 + (fullMs / 2) * random)
}
