import type { Clock } from '@reeve/kit/clock.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { AGENT_LIMITS } from './limits.ts'

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

interface WaitingStep {
  readonly chars: number
  readonly resolve: () => void
}

/**
 * Spreads work on large jobs over event loop iterations. A server may assign a thousand allocations
 * of a 4 MB job at once; preparing them in one go would delay heartbeats by a minute.
 */
export class EventLoopBudget {
  readonly #waiting: WaitingStep[] = []
  #consumedChars = 0
  #isScheduled = false

  /**
   * Resolves when a step on a job of this size may run: immediately while the current iteration has
   * capacity.
   */
  acquire(chars: number): Promise<void> {
    if (this.#waiting.length === 0 && this.#fits(chars)) {
      this.#consume(chars)
      return Promise.resolve()
    }
    return new Promise((resolve) => this.#waiting.push({ chars, resolve }))
  }

  /** The first step of an iteration always fits, however large its job is. */
  #fits(chars: number): boolean {
    return (
      this.#consumedChars === 0 || this.#consumedChars + chars <= AGENT_LIMITS.loopSliceCharsMax
    )
  }

  #consume(chars: number): void {
    this.#consumedChars += chars
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => this.#startSlice())
  }

  #startSlice(): void {
    this.#isScheduled = false
    this.#consumedChars = 0
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      if (!this.#fits(next.chars)) return
      this.#waiting.shift()
      this.#consume(next.chars)
      next.resolve()
    }
  }
}

/**
 * Runs an operation, never twice at once. Callers during a run share the next one, which starts
 * after their call and therefore sees all their changes.
 */
export class CoalescedRun {
  readonly #work: () => Promise<void>
  #running: Promise<void> | undefined
  #next: Promise<void> | undefined

  constructor(work: () => Promise<void>) {
    this.#work = work
  }

  run(): Promise<void> {
    if (this.#running === undefined) return this.#startRun()
    this.#next ??= this.#running
      .catch(() => undefined)
      .then(() => {
        this.#next = undefined
        return this.#startRun()
      })
    return this.#next
  }

  #startRun(): Promise<void> {
    const running = this.#work().finally(() => {
      if (this.#running === running) this.#running = undefined
    })
    this.#running = running
    return running
  }
}
