import type { Timing } from '../src/timing.ts'

interface ManualTiming extends Timing {
  /** Every delay that was asked for, in order. */
  readonly delays: readonly number[]
}

/** Timers that run at once when the test says so, and otherwise never. */
export function manualTiming(fires: (delayMs: number) => boolean = () => false): ManualTiming {
  const delays: number[] = []
  return {
    delays,
    after(delayMs, wake) {
      delays.push(delayMs)
      let isCancelled = false
      // Not a microtask: the network must have its turn.
      if (fires(delayMs)) setImmediate(() => void (isCancelled || wake()))
      return () => {
        isCancelled = true
      }
    },
    random: () => 0.5,
  }
}
