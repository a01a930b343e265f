import { watch, type FSWatcher } from 'node:fs'
import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { sleep } from '../../agent/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { isOutOfResources, mayBeAlive, type ProcessId } from '../proc/processes.ts'
import { readExitRecord, type ExitRecord } from './supervisor-records.ts'

/** Notifications of the kernel can be lost or merged: every exit is also polled. */
const POLL_INTERVAL_MS = 5_000

interface ExitWaiter {
  readonly id: string
  readonly shim: ProcessId
  resolve(record: ExitRecord | undefined): void
  isChecking: boolean
  isCheckRequested: boolean
}

/** Waits for the exits of all tasks of one agent: one watch on the directory they appear in. */
export class ExitWatcher {
  readonly exitsDir: string
  readonly #clock: Clock
  /** Waiters by task; several may wait for the same one. */
  readonly #waiters = new Map<string, Set<ExitWaiter>>()
  #watcher: FSWatcher | undefined
  #polling = new AbortController()

  constructor(dir: string, clock: Clock) {
    this.exitsDir = dir
    this.#clock = clock
  }

  pathOf(id: string): string {
    return join(this.exitsDir, id)
  }

  /** Creates the directory. Idempotent. */
  async open(): Promise<void> {
    await mkdir(this.exitsDir, { recursive: true, mode: 0o700 })
  }

  /**
   * Removes the exits of all other tasks: they are of starts that were given up for lost, as after
   * a restart of the machine.
   */
  async removeExcept(ids: ReadonlySet<string>): Promise<void> {
    const names = await readdir(this.exitsDir).catch(() => [])
    // A shim that is writing its record has a draft here, which must not be removed.
    const stale = names.filter((name) => !ids.has(name.replace(/\.tmp$/, '')))
    for (const name of stale) await rm(join(this.exitsDir, name), { force: true })
  }

  /**
   * Resolves to the exit; undefined if the supervisor is gone without a record. Never settles after
   * the signal was aborted.
   */
  wait(id: string, shim: ProcessId, signal: AbortSignal): Promise<ExitRecord | undefined> {
    return new Promise((resolve) => {
      const waiter = { id, shim, resolve, isChecking: false, isCheckRequested: false }
      const siblings = this.#waiters.get(id) ?? new Set()
      this.#waiters.set(id, siblings.add(waiter))
      if (this.#waiters.size === 1 && siblings.size === 1) this.#startWatching()
      signal.addEventListener('abort', () => this.#removeWaiter(waiter), { once: true })
      this.#requestCheck(waiter)
    })
  }

  /** Checks a task that was reported as ended. */
  check(id: string): void {
    for (const waiter of this.#waiters.get(id) ?? []) this.#requestCheck(waiter)
  }

  #requestCheck(waiter: ExitWaiter): void {
    waiter.isCheckRequested = true
    if (waiter.isChecking) return
    waiter.isChecking = true
    void this.#checkExit(waiter)
  }

  async #checkExit(waiter: ExitWaiter): Promise<void> {
    while (waiter.isCheckRequested) {
      waiter.isCheckRequested = false
      // Checked before the file is read: the shim writes the record and then exits.
      const mayShimBeAlive = mayBeAlive(waiter.shim)
      const record = await this.#read(waiter.id)
      // A record that cannot be read now is polled later: the task must not fail because of it.
      if (record === 'later' || (record === undefined && mayShimBeAlive)) continue
      if (this.#removeWaiter(waiter)) waiter.resolve(record)
      return
    }
    waiter.isChecking = false
  }

  async #read(id: string): Promise<ExitRecord | 'later' | undefined> {
    return readExitRecord(this.pathOf(id)).catch((thrown: unknown) => {
      return isOutOfResources(thrown) ? 'later' : undefined
    })
  }

  /** Removes a waiter; returns false if it was already removed. */
  #removeWaiter(waiter: ExitWaiter): boolean {
    const siblings = this.#waiters.get(waiter.id)
    if (siblings?.delete(waiter) !== true) return false
    if (siblings.size === 0) this.#waiters.delete(waiter.id)
    if (this.#waiters.size === 0) {
      this.#watcher?.close()
      this.#watcher = undefined
      this.#polling.abort()
    }
    return true
  }

  #startWatching(): void {
    this.#polling = new AbortController()
    try {
      const watcher = watch(this.exitsDir, { persistent: false }, (_event, name) => {
        if (name !== null) this.check(name)
      })
      watcher.on('error', () => watcher.close())
      this.#watcher = watcher
    } catch {
      // No inotify watches left: polling is sufficient.
    }
    void this.#poll(this.#polling.signal)
  }

  async #poll(signal: AbortSignal): Promise<void> {
    while (await sleep(this.#clock, POLL_INTERVAL_MS, signal)) {
      for (const id of this.#waiters.keys()) this.check(id)
    }
  }
}
