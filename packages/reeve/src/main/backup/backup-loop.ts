import { open, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '@reeve/kit/clock.ts'
import { isoFromMs } from '@reeve/kit/duration.ts'
import { errorMessage } from '@reeve/kit/fault.ts'
import { backupName, timeMsOf, type BackupTarget } from './backup-target.ts'
import type { VerifiedBackup } from './verify-backup.ts'

/** After a start the servers have other things to do than the first backup. */
const FIRST_MS = 60_000
/** A backup that failed is tried again after this time, or after the interval if that is less. */
const RETRY_MS = 10 * 60_000
const PARTIAL = /^backup-.*\.partial$/

interface BackupLoopOptions {
  readonly target: BackupTarget
  readonly intervalMs: number
  /** How many are kept. */
  readonly keep: number
  readonly clock: Clock
  readonly log: BackupLog
  /** The bytes of a snapshot of this moment. */
  readonly snapshot: () => AsyncIterable<Uint8Array>
  /** Restores a file into memory. */
  readonly verify: (file: string) => Promise<VerifiedBackup>
}

interface BackupLog {
  info(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** Saves a snapshot of the state on a timer, verifies it, and removes the oldest ones. */
export class BackupLoop {
  readonly #options: BackupLoopOptions
  readonly #createdMs: number
  #cancelTimer: () => void = () => undefined
  #running: Promise<void> | undefined
  #isStopped = true
  /** Undefined while none is known. */
  #lastGoodMs: number | undefined
  #problem = ''

  constructor(options: BackupLoopOptions) {
    this.#options = options
    this.#createdMs = options.clock.nowMs()
  }

  start(): void {
    this.#isStopped = false
    this.#run(() => this.#begin())
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#cancelTimer()
    await this.#running
  }

  /** Since the last good backup, or since the server started where there is none. */
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
      error: this.#problem,
    }
  }

  #run(work: () => Promise<number>): void {
    this.#running ??= work()
      .catch((thrown: unknown) => {
        const { log, intervalMs } = this.#options
        this.#problem = errorMessage(thrown)
        log.error({ err: this.#problem }, 'the backup failed; it is tried again')
        return Math.min(RETRY_MS, intervalMs)
      })
      .then((nextMs) => this.#ended(nextMs))
  }

  #ended(nextMs: number): void {
    this.#running = undefined
    if (!this.#isStopped) this.#arm(nextMs)
  }

  #arm(delayMs: number): void {
    this.#cancelTimer = this.#options.clock.after(delayMs, () => this.#run(() => this.#backUp()))
  }

  /** Goes on where an earlier process stopped. Gives the time until the next backup. */
  async #begin(): Promise<number> {
    const { target, intervalMs, clock } = this.#options
    const names = await target.list()
    for (const name of await readdir(target.workFolder))
      if (PARTIAL.test(name)) await rm(join(target.workFolder, name), { force: true })
    const newest = names.at(-1)
    if (newest === undefined) return Math.min(FIRST_MS, intervalMs)
    // A clock that was ahead must not hold up the next one.
    this.#lastGoodMs = Math.min(timeMsOf(newest), clock.nowMs())
    return Math.max(0, Math.min(intervalMs, this.#lastGoodMs + intervalMs - clock.nowMs()))
  }

  async #backUp(): Promise<number> {
    const { target, verify, clock, log, intervalMs } = this.#options
    const startMs = clock.nowMs()
    const file = join(target.workFolder, `backup-${startMs}.partial`)
    try {
      await this.#save(file)
      const { index, rows } = await verify(file)
      const name = backupName(startMs, index)
      await target.store(name, file)
      this.#lastGoodMs = startMs
      this.#problem = ''
      log.info({ index, rows, name, target: target.name }, 'saved and verified a backup')
      await this.#removeOldest(name)
    } finally {
      await rm(file, { force: true })
    }
    return Math.max(0, startMs + intervalMs - clock.nowMs())
  }

  /** The backup just saved stays, whatever the others are called: a clock may have been ahead. */
  async #removeOldest(saved: string): Promise<void> {
    const { target, keep } = this.#options
    const others = (await target.list()).filter((name) => name !== saved)
    for (const name of others.slice(0, Math.max(0, others.length - (keep - 1))))
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
