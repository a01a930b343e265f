import type { Clock } from '@reeve/kit/clock.ts'
import { Fault } from '@reeve/kit/fault.ts'

/** Longest delay of one timer: timers of the runtime are limited to 31 bits of milliseconds. */
const TIMER_DELAY_MAX_MS = 24 * 3_600_000

/**
 * Waits on the given clock. Resolves to true after the delay, to false if the signal was aborted
 * first.
 */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) {
      resolve(false)
      return
    }
    let cancel = (): void => undefined
    const onAbort = (): void => {
      cancel()
      resolve(false)
    }
    const waitFor = (remainingMs: number): void => {
      if (remainingMs <= 0) {
        signal?.removeEventListener('abort', onAbort)
        resolve(true)
        return
      }
      const timerMs = Math.min(remainingMs, TIMER_DELAY_MAX_MS)
      cancel = clock.after(timerMs, () => waitFor(remainingMs - timerMs))
    }
    signal?.addEventListener('abort', onAbort, { once: true })
    waitFor(delayMs)
  })
}

interface TimeoutOptions {
  readonly clock: Clock
  readonly timeoutMs: number
  /** Name of the operation for the message of the fault: `the driver's probe`. */
  readonly operation: string
}

/**
 * Resolves or rejects like `work`, or rejects with a Fault `deadline` after the timeout. The work
 * is not cancelled.
 */
export async function withTimeout<T>(work: Promise<T>, options: TimeoutOptions): Promise<T> {
  const cancelTimeout = new AbortController()
  const timeout = sleep(options.clock, options.timeoutMs, cancelTimeout.signal).then(
    (passed): T | Promise<T> => {
      if (!passed) return work
      throw new Fault('deadline', `${options.operation} took longer than ${options.timeoutMs} ms`)
    },
  )
  try {
    return await Promise.race([work, timeout])
  } finally {
    cancelTimeout.abort()
    // Prevents an unhandled rejection of the promise that lost the race.
    timeout.catch(() => undefined)
    work.catch(() => undefined)
  }
}

/** Limits the number of concurrent operations; further ones wait in order. */
export class Semaphore {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(slots: number) {
    this.#free = slots
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#free += 1
      else next()
    }
  }
}
