import { statfs } from 'node:fs/promises'
import type { Clock } from '@reeve/kit/clock.ts'

const POLL_MS = 30_000

interface FreeSpaceOptions {
  /** A path on the file system. */
  readonly path: string
  readonly clock: Clock
  readonly stat?: (path: string) => Promise<{ bsize: number; blocks: number; bavail: number }>
}

/** Measures the free space of the file system that holds the state. */
export class FreeSpaceMonitor {
  readonly #options: FreeSpaceOptions
  #ratio: number | undefined
  #bytes: number | undefined
  #isStopped = false
  #cancelTimer: () => void = () => undefined

  constructor(options: FreeSpaceOptions) {
    this.#options = options
  }

  /** Free fraction, from 0 to 1; NaN before the first measurement. */
  get ratio(): number {
    return this.#ratio ?? Number.NaN
  }

  get bytes(): number {
    return this.#bytes ?? Number.NaN
  }

  /**
   * Starts measuring. Resolves after the first measurement, which may never happen on a hung file
   * system.
   */
  async start(): Promise<void> {
    const { path, clock, stat = statfs } = this.#options
    try {
      const { bsize, blocks, bavail } = await stat(path)
      this.#bytes = bavail * bsize
      this.#ratio = blocks === 0 ? undefined : bavail / blocks
    } catch {
      // The directory is missing or unreadable; the next write reports the error.
      this.#bytes = undefined
      this.#ratio = undefined
    }
    if (!this.#isStopped) this.#cancelTimer = clock.after(POLL_MS, () => void this.start())
  }

  stop(): void {
    this.#isStopped = true
    this.#cancelTimer()
  }
}
