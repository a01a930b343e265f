import type { Connection } from './call/connection.ts'
import { ApiError, ConnectionError } from './errors.ts'
import { LIMITS } from './limits.ts'
import { pause } from './timing.ts'

export interface RetryOptions {
  /** Told of every failure that is not the end, and when the next attempt is made. */
  readonly onRetry?: ((error: Error, delayMs: number) => void) | undefined
}

/** Waits ever longer between attempts, until one succeeds. */
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

  succeeded(): void {
    this.#failures = 0
  }

  /** Returns when it is time for the next attempt; throws what no repetition can mend. */
  async failed(error: unknown): Promise<void> {
    if (this.#signal?.aborted === true || !isPassing(error)) throw error
    const { timing } = this.#connection
    const asked = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0
    const delayMs = Math.max(asked, backoffMs(this.#failures, timing.random()))
    this.#failures += 1
    this.#onRetry?.(error, delayMs)
    await pause(timing, delayMs, this.#signal)
  }
}

/**
 * Refusals stay what they are, and what could not be read will be the same again. A server that is
 * busy, starting or gone may come back.
 */
export function isPassing(error: unknown): error is ApiError | ConnectionError {
  if (error instanceof ApiError) return error.status === 429 || error.status >= 500
  if (!(error instanceof ConnectionError)) return false
  return error.reason !== 'redirect' && error.reason !== 'unreadable'
}

/** Doubles up to a limit. Half of it is chance, so that callers that failed together part ways. */
export function backoffMs(failures: number, random: number): number {
  const fullMs = Math.min(LIMITS.retryMsMax, LIMITS.retryMsMin * 2 ** Math.min(failures, 16))
  return Math.round(fullMs / 2 + (fullMs / 2) * random)
}
