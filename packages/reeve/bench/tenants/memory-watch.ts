import { setTimeout as wait } from 'node:timers/promises'
import { MEMORY_RATIO_MAX, type MemoryUse } from './statistics.ts'

const SAMPLE_MS = 100
/** The machine is shared: an attack that makes the server larger than this is aborted. */
const RESIDENT_BYTES_MAX = 4 * 1024 ** 3

/** Resident memory of a server before, during and after an attack. */
export class MemoryWatch {
  readonly #sample: () => number
  readonly #beforeBytes: number
  #peakBytes: number
  #timer: NodeJS.Timeout | undefined

  constructor(sample: () => number) {
    this.#sample = sample
    this.#beforeBytes = sample()
    this.#peakBytes = this.#beforeBytes
  }

  /** @param onExcess called once when the server exceeds the memory limit. */
  start(onExcess: () => void): void {
    let isExceeded = false
    this.#timer = setInterval(() => {
      const bytes = this.#sample()
      this.#peakBytes = Math.max(this.#peakBytes, bytes)
      if (bytes <= RESIDENT_BYTES_MAX || isExceeded) return
      isExceeded = true
      onExcess()
    }, SAMPLE_MS)
  }

  /** Waits for the memory to recover, up to the given time. */
  async finish(withinMs: number): Promise<MemoryUse> {
    const endMs = performance.now() + withinMs
    let afterBytes = this.#sample()
    while (performance.now() < endMs && afterBytes > this.#beforeBytes * MEMORY_RATIO_MAX) {
      await wait(SAMPLE_MS)
      afterBytes = Math.min(afterBytes, this.#sample())
    }
    clearInterval(this.#timer)
    return { beforeBytes: this.#beforeBytes, peakBytes: this.#peakBytes, afterBytes }
  }
}
