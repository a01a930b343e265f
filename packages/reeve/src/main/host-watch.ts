import { open, statfs } from 'node:fs/promises'
import type { Clock } from '@reeve/kit/clock.ts'
import { errorMessage, type Fault } from '@reeve/kit/fault.ts'
import { isOutOfFiles, openFilesMax } from '../http/index.ts'
import { isRecoverable, type StorageEngine, type Store } from '../state/index.ts'
import type { Logger } from './log.ts'
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

/** Interval of the check, short enough to report a problem while it lasts. */
const CHECK_INTERVAL_MS = 5_000
/** How often it is logged while it lasts. */
const LOG_INTERVAL_MS = 60_000
/** Share of used descriptors from which a warning is logged. */
const WARNING_RATIO = 0.9

const ADVICE =
  'Raise the limit with LimitNOFILE= in the unit of the service, or ulimit -n, and restart; or ' +
  'lower limits.connections. "reeve doctor" shows the limit and its use'

interface OpenFilesWatchOptions {
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>
  readonly clock: Clock
  /** Opens a file, returns its descriptor number and closes it. Default: a file of the system. */
  readonly probe?: () => Promise<number>
  readonly max?: number
}

type DescriptorSupply = 'enough' | 'near' | 'none'

/**
 * Logs when the process runs out of file descriptors. The runtime does not: it accepts new
 * connections and closes them without an error. The system hands out the lowest free descriptor, so
 * the number of a new one says how many are in use.
 */
export class OpenFilesMonitor {
  readonly #options: Required<OpenFilesWatchOptions>
  #supply: DescriptorSupply = 'enough'
  #loggedMs = 0
  #isStopped = false
  #cancel: () => void = () => undefined
  #checking: Promise<void> = Promise.resolve()

  constructor(options: OpenFilesWatchOptions) {
    this.#options = { probe: openDevNull, max: openFilesMax(), ...options }
  }

  start(): void {
    this.#cancel = this.#options.clock.after(CHECK_INTERVAL_MS, () => {
      this.#checking = this.#check().finally(() => {
        if (!this.#isStopped) this.start()
      })
    })
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#cancel()
    await this.#checking
  }

  async #check(): Promise<void> {
    const supply = await this.#measure()
    const { log, clock, max } = this.#options
    const nowMs = clock.nowMs()
    const isSame = supply === this.#supply
    if (isSame && (supply === 'enough' || nowMs - this.#loggedMs < LOG_INTERVAL_MS)) return
    this.#supply = supply
    this.#loggedMs = nowMs
    if (supply === 'none')
      log.error(
        { max },
        `no file descriptor is left (EMFILE, limit ${max}): new connections are closed, and files cannot be opened. ${ADVICE}`,
      )
    else if (supply === 'near')
      log.warn({ max }, `over 90 % of the ${max} file descriptors are in use. ${ADVICE}`)
    else log.info({ max }, 'enough file descriptors are free again')
  }

  async #measure(): Promise<DescriptorSupply> {
    const { probe, max } = this.#options
    try {
      return (await probe()) >= max * WARNING_RATIO ? 'near' : 'enough'
    } catch (thrown) {
      if (isOutOfFiles(thrown)) return 'none'
      throw thrown
    }
  }
}

async function openDevNull(): Promise<number> {
  const file = await open('/dev/null')
  await file.close()
  return file.fd
}
