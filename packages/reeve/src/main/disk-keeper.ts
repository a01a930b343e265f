import type { Clock } from '@reeve/kit/clock.ts'
import { errorMessage, type Fault } from '@reeve/kit/fault.ts'
import { isRecoverable, type StorageEngine, type Store } from '../state/index.ts'
import type { Shortage } from './server-storage.ts'

/** How often a disk that took no write is tried again. */
const RETRY_MS = 5_000

interface DiskKeeperOptions {
  readonly store: Store
  readonly engine: StorageEngine
  readonly clock: Clock
  readonly log: KeeperLog
  /** Stops everything that writes by itself. */
  readonly pause: () => Promise<void>
  /** Starts it again. */
  readonly resume: () => void
}

interface KeeperLog {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/**
 * Keeps a server answering while its disk is full or read-only: reads always, deletes from the
 * reserve, and everything again once the disk takes it.
 */
export class DiskKeeper {
  readonly #options: DiskKeeperOptions
  #cancelTimer: () => void = () => undefined
  #trying: Promise<void> | undefined
  #isShort = false
  #isStopped = false
  #accepts: Shortage['accepts'] | 'all' = 'all'

  constructor(options: DiskKeeperOptions) {
    this.#options = options
  }

  /** The server was started on such a disk, and nothing that writes by itself runs. */
  startShort({ fault, accepts }: Shortage): void {
    this.#isShort = true
    this.#tell(fault, accepts)
    this.#arm()
  }

  /** A write failed because of the disk. */
  failed(fault: Fault): void {
    this.#accepts = 'nothing'
    if (this.#isShort) return
    this.#isShort = true
    this.#options.log.error({ kind: fault.kind }, fault.message)
    this.#try(true)
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#cancelTimer()
    await this.#trying
  }

  #try(isFirst: boolean): void {
    this.#trying ??= this.#attempt(isFirst)
      .catch((thrown: unknown) =>
        this.#options.log.error({ err: errorMessage(thrown) }, 'the disk was not recovered'),
      )
      .finally(() => {
        this.#trying = undefined
        if (this.#isShort && !this.#isStopped) this.#arm()
      })
  }

  #arm(): void {
    this.#cancelTimer = this.#options.clock.after(RETRY_MS, () => this.#try(false))
  }

  async #attempt(isFirst: boolean): Promise<void> {
    const { store, engine, log, pause, resume } = this.#options
    if (isFirst) await pause()
    if (!isRecoverable(engine)) return
    const recovery = await engine.recover()
    if (recovery === 'all') {
      store.resume('all')
      this.#isShort = false
      this.#accepts = 'all'
      resume()
      log.info({ index: store.index }, 'the disk takes writes again: the server accepts everything')
      return
    }
    if (recovery === 'none' || this.#accepts === 'deletes') return
    const { fault } = store
    store.resume('deletes')
    if (fault !== undefined) this.#tell(fault, 'deletes')
  }

  #tell(fault: Fault, accepts: Shortage['accepts']): void {
    this.#accepts = accepts
    const { engine, log } = this.#options
    const until = isRecoverable(engine) ? 'until the disk has room' : 'until it is restarted'
    const what = accepts === 'deletes' ? 'reads and deletes' : 'reads'
    log.warn({ kind: fault.kind }, `the server accepts only ${what} ${until}: ${fault.message}`)
  }
}
