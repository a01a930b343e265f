import { availableParallelism, loadavg } from 'node:os'
import { inspect } from 'node:util'

/**
 * Many looks are requests to the very program that is waited for: pauses grow with the wait, so
 * that a long one does not take the processor from it.
 */
const PAUSE_MS = { first: 5, growth: 1.3, max: 150 } as const

/**
 * A bound of the product's own, in milliseconds, on this machine as it is now: the time of a core
 * is shared by everything that wants to run.
 */
export function whenBusy(ms: number): number {
  const [load = 0] = loadavg()
  return ms * Math.max(1, load / availableParallelism())
}

/** What takes a second alone may take a minute beside other tests. */
const WITHIN_MS = 180_000

/**
 * Waits for something outside the process, such as a file, looking often; fails when it takes too
 * long.
 */
export async function until<T>(
  what: string,
  look: () => T | undefined | Promise<T | undefined>,
  withinMs = WITHIN_MS,
  /** The state at the deadline, for the message. */
  describe?: () => unknown,
): Promise<T> {
  const endMs = performance.now() + withinMs
  let pauseMs: number = PAUSE_MS.first
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
    if (performance.now() > endMs) throw new Error(timeoutMessage(what, describe?.()))
    await new Promise<void>((resolve) => setTimeout(resolve, pauseMs))
    pauseMs = Math.min(pauseMs * PAUSE_MS.growth, PAUSE_MS.max)
  }
}

function timeoutMessage(what: string, state: unknown): string {
  const message = `timed out waiting for ${what}`
  return state === undefined ? message : `${message}; ${inspect(state, { depth: 6 })}`
}
