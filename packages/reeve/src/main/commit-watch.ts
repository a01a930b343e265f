import type { Clock } from '@reeve/kit/clock.ts'
import type { Store } from '../state/index.ts'
import type { Logger } from './log.ts'

const CHECK_EVERY_MS = 1_000
/** Commits that wait longer than this are reported; they normally take milliseconds. */
const WARNING_AFTER_MS = 5_000

interface CommitWatchOptions {
  readonly clock: Clock
  readonly log: Pick<Logger, 'info' | 'warn'>
  readonly store: Pick<Store, 'commitWaitMs'>
}

/** Logs the start and the end of slow commits. */
export class CommitDelayMonitor {
  readonly #options: CommitWatchOptions
  #longestMs = 0
  #cancelTimer: () => void = () => undefined

  constructor(options: CommitWatchOptions) {
    this.#options = options
  }

  start(): void {
    this.#cancelTimer = this.#options.clock.after(CHECK_EVERY_MS, () => {
      this.start()
      this.check()
    })
  }

  stop(): void {
    this.#cancelTimer()
  }

  /** Describes how long commits have been waiting; undefined while there is no delay. */
  get delay(): string | undefined {
    const waitedMs = this.#options.store.commitWaitMs
    return waitedMs < WARNING_AFTER_MS
      ? undefined
      : `commits have been waiting for the storage for ${Math.round(waitedMs / 1_000)} s`
  }

  /** Checks once. Tests call this directly. */
  check(): void {
    const { log, store } = this.#options
    const waitedMs = Math.round(store.commitWaitMs)
    const { delay } = this
    if (delay !== undefined) {
      if (this.#longestMs === 0) log.warn({ waitedMs }, `${delay}; writes wait with them`)
      this.#longestMs = Math.max(this.#longestMs, waitedMs)
    } else if (this.#longestMs > 0) {
      log.info({ waitedMs: this.#longestMs }, 'commits do not wait for the storage any more')
      this.#longestMs = 0
    }
  }
}
