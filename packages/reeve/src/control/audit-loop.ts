import { setImmediate } from 'node:timers/promises'
import type { Clock } from '@reeve/kit/clock.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { expiredAuditRecords, type AuditLimits, type Store } from '../state/index.ts'
import type { ControlLog } from './control-log.ts'

/** Records may be this much older than said. */
const COLLECT_EVERY_MS = 10 * 60_000

export interface AuditLoopOptions {
  readonly store: Store
  readonly clock: Clock
  readonly log: ControlLog
  readonly limits: AuditLimits
}

/** Removes audit records that are older than they are kept, or more than fit. */
export class AuditLoop {
  readonly #options: AuditLoopOptions
  #cancelTimer: () => void = () => undefined
  #running: Promise<void> | undefined
  #stopped = false

  constructor(options: AuditLoopOptions) {
    this.#options = options
  }

  start(): void {
    this.#cancelTimer = this.#options.clock.after(COLLECT_EVERY_MS, () => {
      this.start()
      void this.collect()
    })
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancelTimer()
    await this.#running
  }

  /** One round; also what the tests call. A round under way is not joined by another. */
  collect(): Promise<void> {
    this.#running ??= this.#round().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async #round(): Promise<void> {
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
      if (removed > 0) log.info({ removed }, 'old audit records removed')
    } catch (thrown) {
      // The storage has failed: the next round, or the next start, goes on.
      if (!(thrown instanceof Fault)) throw thrown
      log.warn({ err: errorMessage(thrown) }, 'old audit records could not be removed')
    }
  }
}
