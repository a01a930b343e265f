import type { Clock } from '@reeve/kit/clock.ts'
import { errorMessage, type Fault } from '@reeve/kit/fault.ts'
import { isRecoverable, type StorageEngine, type Store } from '../state/index.ts'
import type { StorageRestriction } from './server-storage.ts'

/** How often recovery is attempted after a failed write. */
const RETRY_MS = 5_000

interface DiskKeeperOptions {
  readonly store: Store
  readonly engine: StorageEngine
  readonly clock: Clock
  readonly log: RecoveryLog
  /** Stops all background loops that write. */
  readonly pause: () => Promise<void>
  /** Restarts the background loops. */
  readonly resume: () => void
}

interface RecoveryLog {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/**
 * Keeps a server available while its disk is full or read-only: reads always work, deletes use the
 * reserve, and other writes resume when the disk accepts them.
 */
export class DiskRecovery {
  readonly #options: DiskKeeperOptions
  #cancelTimer: () => void = () => undefined
  #running: Promise<void> | undefined
  #isRestricted = false
  #isStopped = false
  #accepts: StorageRestriction['acceptedWrites'] | 'all' = 'all'

  constructor(options: DiskKeeperOptions) {
    this.#options = options
  }

  /** For a server that started on a full or read-only disk, with its background loops stopped. */
  startRestricted({ fault, acceptedWrites }: StorageRestriction): void {
    this.#isRestricted = true
    this.#logRestriction(fault, acceptedWrites)
    this.#scheduleRetry()
  }

  /** Handles a write that failed because of the disk. */
  onWriteFault(fault: Fault): void {
    this.#accepts = 'nothing'
    if (this.#isRestricted) return
    this.#isRestricted = true
    this.#options.log.error({ kind: fault.kind }, fault.message)
    this.#startAttempt(true)
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#cancelTimer()
    await this.#running
  }

  #startAttempt(isFirst: boolean): void {
    this.#running ??= this.#attempt(isFirst)
      .catch((thrown: unknown) =>
        this.#options.log.error({ err: errorMessage(thrown) }, 'the disk was not recovered'),
      )
      .finally(() => {
        this.#running = undefined
        if (this.#isRestricted && !this.#isStopped) this.#scheduleRetry()
      })
  }

  #scheduleRetry(): void {
    this.#cancelTimer = this.#options.clock.after(RETRY_MS, () => this.#startAttempt(false))
  }

  async #attempt(isFirst: boolean): Promise<void> {
    const { store, engine, log, pause, resume } = this.#options
    if (isFirst) await pause()
    if (!isRecoverable(engine)) return
    const recovery = await engine.recover()
    if (recovery === 'all') {
      store.resume('all')
      this.#isRestricted = false
      this.#accepts = 'all'
      resume()
      log.info({ index: store.index }, 'the disk accepts writes again')
      return
    }
    if (recovery === 'none' || this.#accepts === 'deletes') return
    const { fault } = store
    store.resume('deletes')
    if (fault !== undefined) this.#logRestriction(fault, 'deletes')
  }

  #logRestriction(fault: Fault, accepts: StorageRestriction['acceptedWrites']): void {
    this.#accepts = accepts
    const { engine, log } = this.#options
    const until = isRecoverable(engine) ? 'until the disk has room' : 'until it is restarted'
    const what = accepts === 'deletes' ? 'reads and deletes' : 'reads'
    log.warn({ kind: fault.kind }, `the server accepts only ${what} ${until}: ${fault.message}`)
  }
}
