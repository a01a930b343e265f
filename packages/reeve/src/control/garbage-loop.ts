import { setImmediate } from 'node:timers/promises'
import type { Clock } from '@reeve/kit/clock.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { collectGarbage, GARBAGE_AGES, type GarbageAges, type Store } from '../state/index.ts'
import type { ControlLog } from './control-log.ts'

/** How often each of the collectors runs. */
const COLLECT_EVERY_MS = 5 * 60_000

export interface GarbageLoopOptions {
  readonly store: Store
  readonly clock: Clock
  readonly log: ControlLog
  readonly ages?: GarbageAges
  /** Gives others their turn between two slices. */
  readonly nextTurn?: () => Promise<void>
}

/**
 * Removes what has ended and nobody needs: jobs, evaluations with their allocations, deployments,
 * nodes. Expired tokens are the expiry loop's. It remembers nothing: each round begins anew.
 */
export class GarbageLoop {
  readonly #options: GarbageLoopOptions
  #cancelTimer: () => void = () => undefined
  #running: Promise<void> | undefined
  #stopped = false

  constructor(options: GarbageLoopOptions) {
    this.#options = options
  }

  start(): void {
    this.#cancelTimer = this.#options.clock.after(COLLECT_EVERY_MS, () => {
      this.start()
      this.#run()
    })
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancelTimer()
    await this.#running
  }

  /** Resolves when no round is under way; what the tests wait for. */
  async idle(): Promise<void> {
    await this.#running
  }

  /** A round that takes longer than the time between two is not joined by the next. */
  #run(): void {
    this.#running ??= this.#round().finally(() => {
      this.#running = undefined
    })
  }

  async #round(): Promise<void> {
    const { store, clock, log, ages, nextTurn } = this.#options
    try {
      const counts = await collectGarbage(store, {
        by: 'system',
        nowMs: clock.nowMs(),
        ages: ages ?? GARBAGE_AGES,
        nextTurn: nextTurn ?? (() => setImmediate()),
        isStopped: () => this.#stopped,
      })
      if (Object.values(counts).some((count) => count > 0)) log.info(counts, 'garbage collected')
    } catch (thrown) {
      // The storage has failed: the next round, or the next start, goes on.
      if (!(thrown instanceof Fault)) throw thrown
      log.warn({ err: errorMessage(thrown) }, 'garbage could not be collected')
    }
  }
}
