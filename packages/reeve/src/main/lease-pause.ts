/** Leadership that lasts longer counts as stable. */
const STABLE_LEADERSHIP_MS = 30_000
const PAUSE_MS = 1_000
const PAUSE_MS_MAX = 15_000

/**
 * Delay before a server tries to acquire the lease again. After a storage fault early in its
 * leadership, a server lets others try first and spares a struggling database from loading its
 * state: the delay doubles each time. A deposed server does not wait.
 */
export class LeaseBackoff {
  #ms = 0
  #leadershipStartedMs: number | undefined

  get ms(): number {
    return this.#ms
  }

  /** Call when this server starts to lead. */
  leadershipStarted(nowMs: number): void {
    this.#leadershipStartedMs = nowMs
  }

  /** Call before the server reopens after a fault of this kind. */
  failed(kind: string, nowMs: number): void {
    const isUnsteady =
      this.#leadershipStartedMs !== undefined &&
      nowMs - this.#leadershipStartedMs < STABLE_LEADERSHIP_MS
    this.#leadershipStartedMs = undefined
    const isPaused = kind === 'storage-failed' && isUnsteady
    this.#ms = isPaused ? Math.min(Math.max(PAUSE_MS, 2 * this.#ms), PAUSE_MS_MAX) : 0
  }
}
