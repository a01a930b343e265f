/** A leadership that lasted longer was a steady one. */
const STEADY_MS = 30_000
const PAUSE_MS = 1_000
const PAUSE_MS_MAX = 15_000

/**
 * How long a server waits before it asks for the lease again. One whose storage failed soon after
 * it began to lead lets others try first, and spares a database in trouble the load of its state:
 * it waits twice as long each time. One that was deposed does not wait.
 */
export class LeasePause {
  #ms = 0
  #ledMs: number | undefined

  get ms(): number {
    return this.#ms
  }

  /** This server began to lead. */
  led(nowMs: number): void {
    this.#ledMs = nowMs
  }

  /** It begins anew after a fault of this kind. */
  failed(kind: string, nowMs: number): void {
    const isUnsteady = this.#ledMs !== undefined && nowMs - this.#ledMs < STEADY_MS
    this.#ledMs = undefined
    const isPaused = kind === 'storage-failed' && isUnsteady
    this.#ms = isPaused ? Math.min(Math.max(PAUSE_MS, 2 * this.#ms), PAUSE_MS_MAX) : 0
  }
}
