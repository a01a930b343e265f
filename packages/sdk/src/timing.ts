import { LIMITS } from './limits.ts'

/** Time and chance as a capability, so that tests and simulation decide both. */
export interface Timing {
  /** Calls `wake` once after `delayMs`; the returned function cancels it, also when called twice. */
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

/** Resolves after the delay; rejects with the reason of the signal when that comes first. */
export function pause(timing: Timing, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const cancel = timing.after(delayMs, () => {
      signal?.removeEventListener('abort', leave)
      resolve()
    })
    function leave(): void {
      cancel()
      reject(signal?.reason)
    }
    signal?.addEventListener('abort', leave, { once: true })
  })
}
