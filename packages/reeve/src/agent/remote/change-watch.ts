import { watch, type FSWatcher } from 'node:fs'
import type { Clock } from '@reeve/kit/clock.ts'
import { AGENT_LIMITS } from '../limits.ts'
import { pause } from '../wait.ts'

/**
 * Tells when a file or directory may have changed. The kernel's word can be lost or not to be had
 * at all, so whoever waits is also woken from time to time.
 */
export class ChangeWatch {
  readonly #clock: Clock
  readonly #watcher: FSWatcher | undefined
  #isDue = false
  #wake: (() => void) | undefined

  constructor(path: string, clock: Clock) {
    this.#clock = clock
    this.#watcher = tryWatch(path, () => this.#changed())
  }

  /** True when something changed, false when only the time has passed or the signal came. */
  async changed(signal: AbortSignal): Promise<boolean> {
    const enough = new AbortController()
    const both = AbortSignal.any([signal, enough.signal])
    if (!this.#isDue) {
      const told = new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      await Promise.race([told, pause(this.#clock, AGENT_LIMITS.followSweepMs, both)])
    }
    enough.abort()
    this.#wake = undefined
    const wasDue = this.#isDue
    this.#isDue = false
    return wasDue
  }

  close(): void {
    this.#watcher?.close()
    this.#wake?.()
  }

  #changed(): void {
    this.#isDue = true
    this.#wake?.()
  }
}

function tryWatch(path: string, changed: () => void): FSWatcher | undefined {
  try {
    const watcher = watch(path, { persistent: false }, changed)
    // A watch that ends is missed only until the next look.
    watcher.on('error', () => undefined)
    return watcher
  } catch {
    // The kernel has no more watches to give.
    return undefined
  }
}
