import type { Clock } from '@reeve/kit/clock.ts'
import { Fault } from '@reeve/kit/fault.ts'

/** Timers of the runtime count 31 bits of milliseconds; a longer wait is taken in pieces. */
const PIECE_MS_MAX = 24 * 3_600_000

/**
 * Waits on the given clock. True when the time has passed, false when the signal ended the wait
 * first.
 */
export function pause(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) {
      resolve(false)
      return
    }
    let cancel = (): void => undefined
    const interrupted = (): void => {
      cancel()
      resolve(false)
    }
    const step = (leftMs: number): void => {
      if (leftMs <= 0) {
        signal?.removeEventListener('abort', interrupted)
        resolve(true)
        return
      }
      const pieceMs = Math.min(leftMs, PIECE_MS_MAX)
      cancel = clock.after(pieceMs, () => step(leftMs - pieceMs))
    }
    signal?.addEventListener('abort', interrupted, { once: true })
    step(delayMs)
  })
}

interface Deadline {
  readonly clock: Clock
  readonly ms: number
  /** What is waited for, for the text of the fault: `the driver's probe`. */
  readonly what: string
}

/**
 * The work's own outcome, or a Fault `deadline` when it takes too long. The work itself goes on
 * unwatched.
 */
export async function withDeadline<T>(work: Promise<T>, deadline: Deadline): Promise<T> {
  const stop = new AbortController()
  const late = pause(deadline.clock, deadline.ms, stop.signal).then((passed): T | Promise<T> => {
    if (!passed) return work
    throw new Fault('deadline', `${deadline.what} took longer than ${deadline.ms} ms`)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    stop.abort()
    // The loser of the race must not become an unhandled rejection.
    late.catch(() => undefined)
    work.catch(() => undefined)
  }
}

/** Lets at most `slots` pieces of work run at once; the others wait in order. */
export class Slots {
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
