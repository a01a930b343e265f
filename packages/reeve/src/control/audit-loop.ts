import { setImmediate } from 'node:timers/promises'
import type { Clock } from '@reeve/kit/clock.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { expiredAuditRecords, type AuditLimits, type Store } from '../state/index.ts'
import type { Logger } from './control-log.ts'

/** Interval of the collection; records may exceed their retention by this time. */
const AUDIT_INTERVAL_MS = 10 * 60_000

export interface AuditRetentionLoopOptions {
  readonly store: Store
  readonly clock: Clock
  readonly log: Logger
  readonly limits: AuditLimits
}

/** Deletes audit records beyond the configured age and size. */
export class AuditRetentionLoop {
  readonly #options: AuditRetentionLoopOptions
  #cancelTimer: () => void = () => undefined
  #running: Promise<void> | undefined
  #stopped = false

  constructor(options: AuditRetentionLoopOptions) {
    this.#options = options
  }

  start(): void {
    this.#cancelTimer = this.#options.clock.after(AUDIT_INTERVAL_MS, () => {
      this.start()
      void this.runOnce()
    })
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancelTimer()
    await this.#running
  }

  /** Runs one collection, unless one is already running. Also called by tests. */
  runOnce(): Promise<void> {
    this.#running ??= this.#deleteExpired().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async #deleteExpired(): Promise<void> {
    const { store, clock, log, limits } = this.#options
    let removed = 0
    try {
      while (!this.#stopped) {
        const changes = expiredAuditRecords(store, clock.nowMs(), limits)
        if (changes.length === 0) break
        await store.commit({ by: 'system', cause: undefined, changes: () => changes }).durable
        removed += changes.length
        await setImmediate()
      }
      if (removed > 0) log.info({ removed }, 'expired audit records deleted')
    } catch (thrown) {
      // Storage fault: the next run continues.
      if (!(thrown instanceof Fault)) throw thrown
      log.warn({ err: errorMessage(thrown) }, 'old audit records could not be removed')
    }
  }
}
