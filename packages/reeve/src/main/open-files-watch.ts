import { open } from 'node:fs/promises'
import { isOutOfFiles, openFilesMax } from '../http/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import type { Logger } from './log.ts'

/** Interval of the check, short enough to report a problem while it lasts. */
const CHECK_INTERVAL_MS = 5_000
/** How often it is logged while it lasts. */
const LOG_INTERVAL_MS = 60_000
/** Share of used descriptors from which a warning is logged. */
const WARNING_RATIO = 0.9

const ADVICE =
  'Raise the limit with LimitNOFILE= in the unit of the service, or ulimit -n, and restart; or ' +
  'lower limits.connections. "reeve doctor" shows the limit and its use'

export interface OpenFilesWatchOptions {
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
