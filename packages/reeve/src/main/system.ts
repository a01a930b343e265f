import { randomUUID } from 'node:crypto'
import type { Clock, IdSource, Random } from '@reeve/kit/clock.ts'

/** The maximum of setTimeout, which uses 32 bits; longer delays are split. */
const TIMEOUT_MS_MAX = 2 ** 31 - 1

/**
 * The system clock. Its timers are unreferenced; `reeve agent` keeps the process running itself.
 */
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
