import type { Clock } from '@reeve/kit/clock.ts'
import type { Store } from '../state/index.ts'
import type { ProgramLog } from './log.ts'

const CHECK_EVERY_MS = 1_000
/** A commit takes milliseconds: after this time somebody has to look at the storage. */
const DELAY_MS = 5_000

interface CommitWatchOptions {
  readonly clock: Clock
  readonly log: Pick<ProgramLog, 'info' | 'warn'>
  readonly store: Pick<Store, 'commitWaitMs'>
}

/** Reports commits that wait for the storage: once when it begins, once when it is over. */
export class CommitWatch {
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

  /** How long commits have been waiting, in words; undefined while they do not wait for long. */
  get delay(): string | undefined {
    const waitedMs = this.#options.store.commitWaitMs
    return waitedMs < DELAY_MS
      ? undefined
      : `commits have been waiting for the storage for ${Math.round(waitedMs / 1_000)} s`
  }

  /** One look; also what the tests call. */
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
