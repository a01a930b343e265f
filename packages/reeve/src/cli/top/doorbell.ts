/** Wakes one waiter. Notifications without a waiter are coalesced. */
export class WakeSignal {
  #isNotified = false
  #wake: (() => void) | undefined

  notify(): void {
    this.#isNotified = true
    this.#wake?.()
  }

  /** Resolves at the next notification, after the timeout, or on abort. */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    if (!this.#isNotified) {
      await sleep(ms, signal, (wake) => {
        this.#wake = wake
      })
    }
    this.#isNotified = false
    this.#wake = undefined
  }

  /** Waits for the given time and discards notifications meanwhile. */
  async debounce(ms: number, signal: AbortSignal): Promise<void> {
    if (ms > 0) await sleep(ms, signal)
    this.#isNotified = false
  }
}

async function sleep(
  ms: number,
  signal: AbortSignal,
  onBegun: (wake: () => void) => void = () => undefined,
): Promise<void> {
  if (signal.aborted) return
  const ended = Promise.withResolvers<void>()
  const timer = setTimeout(ended.resolve, ms)
  const wake = (): void => ended.resolve()
  signal.addEventListener('abort', wake)
  onBegun(wake)
  await ended.promise
  clearTimeout(timer)
  signal.removeEventListener('abort', wake)
}
