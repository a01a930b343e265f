import { watch, type FSWatcher } from 'node:fs'
import type { Clock } from '@reeve/kit/clock.ts'
import { AGENT_LIMITS } from '../limits.ts'
import { sleep } from '../wait.ts'

/**
 * Waits for changes of a file or directory. Notifications of the kernel can be lost or unavailable,
 * so every wait is also limited by a poll interval.
 */
export class FileChangeWatcher {
  readonly #clock: Clock
  readonly #watcher: FSWatcher | undefined
  #hasChanged = false
  #wake: (() => void) | undefined

  constructor(path: string, clock: Clock) {
    this.#clock = clock
    this.#watcher = tryWatch(path, () => this.#onChange())
  }

  /**
   * Resolves to true after a change, to false after the poll interval or when the signal is
   * aborted.
   */
  async waitForChange(signal: AbortSignal): Promise<boolean> {
    const stopWaiting = new AbortController()
    const anySignal = AbortSignal.any([signal, stopWaiting.signal])
    if (!this.#hasChanged) {
      const notified = new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      await Promise.race([
        notified,
        sleep(this.#clock, AGENT_LIMITS.followPollIntervalMs, anySignal),
      ])
    }
    stopWaiting.abort()
    this.#wake = undefined
    const hadChanged = this.#hasChanged
    this.#hasChanged = false
    return hadChanged
  }

  close(): void {
    this.#watcher?.close()
    this.#wake?.()
  }

  #onChange(): void {
    this.#hasChanged = true
    this.#wake?.()
  }
}

function tryWatch(path: string, onChange: () => void): FSWatcher | undefined {
  try {
    const watcher = watch(path, { persistent: false }, onChange)
    // A failed watch is covered by polling.
    watcher.on('error', () => undefined)
    return watcher
  } catch {
    // The inotify limit was reached.
    return undefined
  }
}
