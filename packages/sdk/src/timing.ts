import { LIMITS } from './limits.ts'

/** Timers and random numbers, replaceable in tests and simulations. */
export interface Timing {
  /** Calls `wake` once after `delayMs`; returns an idempotent cancel function. */
  after(delayMs: number, wake: () => void): () => void
  /** A number in [0, 1). */
  random(): number
}

export const systemTiming: Timing = {
  after(delayMs, wake) {
    const timer = setTimeout(wake, Math.min(delayMs, LIMITS.timerMsMax))
    return () => clearTimeout(timer)
  },
  random: () => Math.random(),
}

/** Resolves after the delay; rejects with the reason of the signal if it aborts first. */
export async function pause(timing: Timing, delayMs: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted()
  const { promise, resolve } = Promise.withResolvers<void>()
  const wake = () => resolve()
  const cancel = timing.after(delayMs, wake)
  signal?.addEventListener('abort', wake)
  await promise
  cancel()
  signal?.removeEventListener('abort', wake)
  signal?.throwIfAborted()
}
