import { setImmediate } from 'node:timers/promises'
import type { Clock } from '@reeve/kit/clock.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { runGc, DEFAULT_GC_THRESHOLDS, type GcThresholds, type Store } from '../state/index.ts'
import type { Logger } from './control-log.ts'

/** Interval of the collection. */
const GARBAGE_INTERVAL_MS = 5 * 60_000

export interface GarbageCollectionLoopOptions {
  readonly store: Store
  readonly clock: Clock
  readonly log: Logger
  readonly ages?: GcThresholds
  /** Yields to the event loop between slices. */
  readonly yieldToEventLoop?: () => Promise<void>
}

/**
 * Deletes terminal jobs, evaluations with their allocations, deployments and nodes after their
 * retention. Tokens are handled by the token expiry loop. No state is kept between runs.
 */
export class GarbageCollectionLoop {
  readonly #options: GarbageCollectionLoopOptions
  #cancelTimer: () => void = () => undefined
  #running: Promise<void> | undefined
  #stopped = false

  constructor(options: GarbageCollectionLoopOptions) {
    this.#options = options
  }

  start(): void {
    this.#cancelTimer = this.#options.clock.after(GARBAGE_INTERVAL_MS, () => {
      this.start()
      this.#run()
    })
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancelTimer()
    await this.#running
  }

  /** Resolves when no run is active. For tests. */
  async idle(): Promise<void> {
    await this.#running
  }

  /** Skips the run if the previous one is still active. */
  #run(): void {
    this.#running ??= this.#runOnce().finally(() => {
      this.#running = undefined
    })
  }

  async #runOnce(): Promise<void> {
    const { store, clock, log, ages, yieldToEventLoop } = this.#options
    try {
      const counts = await runGc(store, {
        by: 'system',
        nowMs: clock.nowMs(),
        ages: ages ?? DEFAULT_GC_THRESHOLDS,
        yieldToEventLoop: yieldToEventLoop ?? (() => setImmediate()),
        isStopped: () => this.#stopped,
      })
      if (Object.values(counts).some((count) => count > 0)) log.info(counts, 'garbage collected')
    } catch (thrown) {
      // Storage fault: the next run continues.
      if (!(thrown instanceof Fault)) throw thrown
      log.warn({ err: errorMessage(thrown) }, 'garbage could not be collected')
    }
  }
}
