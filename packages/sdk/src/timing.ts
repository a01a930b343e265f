import { LIMITS } from './limits.ts'

/** Time and chance as a capability, so that tests and simulation decide both. */
export interface Timing {
  /** Calls `wake` once after `delayMs`; what it returns cancels it and may be called twice. */
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

/** Returns after the delay; throws the reason of the signal when that comes first. */
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
