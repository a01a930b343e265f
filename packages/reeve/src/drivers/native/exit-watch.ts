import { watch, type FSWatcher } from 'node:fs'
import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pause } from '../../agent/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { isExhausted, mayBeAlive, type ProcessRef } from '../raw-exec/processes.ts'
import { readExit, type ExitRecord } from './records.ts'

/** Notices of the kernel can be lost or put together: everything is looked at now and then too. */
const SWEEP_MS = 5_000

interface Awaited {
  readonly id: string
  readonly shim: ProcessRef
  resolve(record: ExitRecord | undefined): void
  isLooking: boolean
  isToLookAgain: boolean
}

/** Waits for the exits of all tasks of one agent: one watch on the directory they appear in. */
export class ExitWatch {
  readonly dir: string
  readonly #clock: Clock
  /** By task; several may wait for the same one. */
  readonly #awaited = new Map<string, Set<Awaited>>()
  #watcher: FSWatcher | undefined
  #sweeping = new AbortController()

  constructor(dir: string, clock: Clock) {
    this.dir = dir
    this.#clock = clock
  }

  pathOf(id: string): string {
    return join(this.dir, id)
  }

  /** Makes the directory; safe to repeat. */
  async open(): Promise<void> {
    await mkdir(this.dir, { recursive: true, mode: 0o700 })
  }

  /**
   * Removes the exits of all other tasks: they are of starts that were given up for lost, as after
   * a restart of the machine.
   */
  async keep(ids: ReadonlySet<string>): Promise<void> {
    const names = await readdir(this.dir).catch(() => [])
    // A shim that is just writing has a draft here, which must not go from under it.
    const left = names.filter((name) => !ids.has(name.replace(/\.tmp$/, '')))
    for (const name of left) await rm(join(this.dir, name), { force: true })
  }

  /**
   * The exit, once it is there; undefined when the supervisor is gone and left none. Never settles
   * after the signal.
   */
  wait(id: string, shim: ProcessRef, signal: AbortSignal): Promise<ExitRecord | undefined> {
    return new Promise((resolve) => {
      const awaited = { id, shim, resolve, isLooking: false, isToLookAgain: false }
      const siblings = this.#awaited.get(id) ?? new Set()
      this.#awaited.set(id, siblings.add(awaited))
      if (this.#awaited.size === 1 && siblings.size === 1) this.#begin()
      signal.addEventListener('abort', () => this.#drop(awaited), { once: true })
      this.#look(awaited)
    })
  }

  /** Somebody says that this task has ended. */
  look(id: string): void {
    for (const awaited of this.#awaited.get(id) ?? []) this.#look(awaited)
  }

  #look(awaited: Awaited): void {
    awaited.isToLookAgain = true
    if (awaited.isLooking) return
    awaited.isLooking = true
    void this.#lookAt(awaited)
  }

  async #lookAt(awaited: Awaited): Promise<void> {
    while (awaited.isToLookAgain) {
      awaited.isToLookAgain = false
      // Asked before the file is read: the shim writes it and then ends.
      const isSupervised = mayBeAlive(awaited.shim)
      const record = await this.#read(awaited.id)
      // What cannot be read now is read by a later sweep: a task must not be ended for that.
      if (record === 'later' || (record === undefined && isSupervised)) continue
      if (this.#drop(awaited)) awaited.resolve(record)
      return
    }
    awaited.isLooking = false
  }

  async #read(id: string): Promise<ExitRecord | 'later' | undefined> {
    return readExit(this.pathOf(id)).catch((thrown: unknown) => {
      return isExhausted(thrown) ? 'later' : undefined
    })
  }

  /** False when it was dropped before. */
  #drop(awaited: Awaited): boolean {
    const siblings = this.#awaited.get(awaited.id)
    if (siblings?.delete(awaited) !== true) return false
    if (siblings.size === 0) this.#awaited.delete(awaited.id)
    if (this.#awaited.size === 0) {
      this.#watcher?.close()
      this.#watcher = undefined
      this.#sweeping.abort()
    }
    return true
  }

  #begin(): void {
    this.#sweeping = new AbortController()
    try {
      const watcher = watch(this.dir, { persistent: false }, (_event, name) => {
        if (name !== null) this.look(name)
      })
      watcher.on('error', () => watcher.close())
      this.#watcher = watcher
    } catch {
      // No watches left on this machine: the sweep suffices.
    }
    void this.#sweep(this.#sweeping.signal)
  }

  async #sweep(signal: AbortSignal): Promise<void> {
    while (await pause(this.#clock, SWEEP_MS, signal)) {
      for (const id of this.#awaited.keys()) this.look(id)
    }
  }
}
