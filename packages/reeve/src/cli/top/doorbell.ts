/** Wakes whoever waits for news; rings that nobody waited for count as one. */
export class Doorbell {
  #isRung = false
  #answer: (() => void) | undefined

  ring(): void {
    this.#isRung = true
    this.#answer?.()
  }

  /** Resolves at the next ring, after the time, or when the signal ends it. */
  async rung(ms: number, signal: AbortSignal): Promise<void> {
    if (!this.#isRung) {
      await pause(ms, signal, (wake) => {
        this.#answer = wake
      })
    }
    this.#isRung = false
    this.#answer = undefined
  }

  /** Resolves after the time, however often it rings. */
  async quiet(ms: number, signal: AbortSignal): Promise<void> {
    if (ms > 0) await pause(ms, signal)
    this.#isRung = false
  }
}

async function pause(
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
