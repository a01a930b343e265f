import { open, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '@reeve/kit/clock.ts'
import { isoFromMs } from '@reeve/kit/duration.ts'
import { errorMessage } from '@reeve/kit/fault.ts'
import { backupName, backupTimeMs, type BackupTarget } from './backup-target.ts'
import type { VerifiedBackup } from './verify-backup.ts'

/** Delay of the first backup, so that it does not compete with the start of the servers. */
const FIRST_DELAY_MS = 60_000
/** Delay before a failed backup is retried, unless the interval is shorter. */
const RETRY_MS = 10 * 60_000
const PARTIAL = /^backup-.*\.partial$/

interface BackupLoopOptions {
  readonly target: BackupTarget
  readonly intervalMs: number
  /** How many backups are kept. */
  readonly keepCount: number
  readonly clock: Clock
  readonly log: BackupLog
  /** Creates a snapshot of the current state. */
  readonly snapshot: () => AsyncIterable<Uint8Array>
  /** Verifies a backup file by restoring it into memory. */
  readonly verify: (file: string) => Promise<VerifiedBackup>
}

interface BackupLog {
  info(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** Saves a snapshot of the state at intervals, verifies it, and removes the oldest backups. */
export class BackupLoop {
  readonly #options: BackupLoopOptions
  readonly #createdMs: number
  #cancelTimer: () => void = () => undefined
  #running: Promise<void> | undefined
  #isStopped = true
  /** Time of the last verified backup; undefined if unknown. */
  #lastGoodMs: number | undefined
  #lastError = ''

  constructor(options: BackupLoopOptions) {
    this.#options = options
    this.#createdMs = options.clock.nowMs()
  }

  start(): void {
    this.#isStopped = false
    this.#run(() => this.#scheduleFirst())
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#cancelTimer()
    await this.#running
  }

  /** Time since the last verified backup, or since the start of the server without one. */
  get ageMs(): number {
    return Math.max(0, this.#options.clock.nowMs() - (this.#lastGoodMs ?? this.#createdMs))
  }

  /** For `/v1/agent/self`. */
  get stats(): Readonly<Record<string, string>> {
    const { target, intervalMs } = this.#options
    const last = this.#lastGoodMs
    return {
      target: target.name,
      interval_seconds: String(intervalMs / 1_000),
      age_seconds: String(Math.round(this.ageMs / 1_000)),
      last_good: last === undefined ? '' : isoFromMs(last),
      error: this.#lastError,
    }
  }

  #run(work: () => Promise<number>): void {
    this.#running ??= work()
      .catch((thrown: unknown) => {
        const { log, intervalMs } = this.#options
        this.#lastError = errorMessage(thrown)
        log.error({ err: this.#lastError }, 'backup failed; it will be retried')
        return Math.min(RETRY_MS, intervalMs)
      })
      .then((nextMs) => this.#scheduleNext(nextMs))
  }

  #scheduleNext(nextMs: number): void {
    this.#running = undefined
    if (!this.#isStopped) this.#schedule(nextMs)
  }

  #schedule(delayMs: number): void {
    this.#cancelTimer = this.#options.clock.after(delayMs, () => this.#run(() => this.#backUp()))
  }

  /** Continues the schedule of the previous process. Returns the time until the next backup. */
  async #scheduleFirst(): Promise<number> {
    const { target, intervalMs, clock } = this.#options
    const names = await target.list()
    for (const name of await readdir(target.stagingDirectory))
      if (PARTIAL.test(name)) await rm(join(target.stagingDirectory, name), { force: true })
    const newest = names.at(-1)
    if (newest === undefined) return Math.min(FIRST_DELAY_MS, intervalMs)
    // A backup with a time in the future must not delay the next one.
    this.#lastGoodMs = Math.min(backupTimeMs(newest), clock.nowMs())
    return Math.max(0, Math.min(intervalMs, this.#lastGoodMs + intervalMs - clock.nowMs()))
  }

  async #backUp(): Promise<number> {
    const { target, verify, clock, log, intervalMs } = this.#options
    const startMs = clock.nowMs()
    const file = join(target.stagingDirectory, `backup-${startMs}.partial`)
    try {
      await this.#save(file)
      const { index, rows } = await verify(file)
      const name = backupName(startMs, index)
      await target.store(name, file)
      this.#lastGoodMs = startMs
      this.#lastError = ''
      log.info({ index, rows, name, target: target.name }, 'saved and verified a backup')
      await this.#removeOldest(name)
    } finally {
      await rm(file, { force: true })
    }
    return Math.max(0, startMs + intervalMs - clock.nowMs())
  }

  /**
   * Keeps the backup just saved, even if the names of others sort after it because a clock was
   * ahead.
   */
  async #removeOldest(saved: string): Promise<void> {
    const { target, keepCount } = this.#options
    const others = (await target.list()).filter((name) => name !== saved)
    for (const name of others.slice(0, Math.max(0, others.length - (keepCount - 1))))
      await target.remove(name)
  }

  async #save(file: string): Promise<void> {
    const handle = await open(file, 'wx', 0o600)
    try {
      for await (const chunk of this.#options.snapshot()) await handle.writeFile(chunk)
      await handle.sync()
    } finally {
      await handle.close()
    }
  }
}
