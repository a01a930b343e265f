import { randomUUID } from 'node:crypto'
import type { Clock, IdSource, Random } from '@reeve/kit/clock.ts'

/** setTimeout counts in 32 bits; a longer wait is taken in steps. */
const TIMEOUT_MS_MAX = 2 ** 31 - 1

/** The machine's clock. Its timers keep no process alive; `reeve agent` does that itself. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  after(delayMs, wake) {
    let timer: NodeJS.Timeout
    const arm = (leftMs: number): void => {
      const step = Math.min(leftMs, TIMEOUT_MS_MAX)
      timer = setTimeout(() => (leftMs > step ? arm(leftMs - step) : wake()), step)
      timer.unref()
    }
    arm(Math.max(0, delayMs))
    return () => clearTimeout(timer)
  },
}

export const systemIds: IdSource = { uuid: () => randomUUID() }

export const systemRandom: Random = { next: () => Math.random() }
