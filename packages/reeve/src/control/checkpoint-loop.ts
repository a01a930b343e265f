import type { Clock } from '@reeve/kit/clock.ts'
import { errorMessage } from '@reeve/kit/fault.ts'
import type { Store } from '../state/index.ts'
import type { Logger } from '@reeve/kit/log.ts'

/** Retention of the log beyond the checkpoint: the backlog of the event stream. */
interface LogRetention {
  readonly ageMsMax: number
  readonly commitsMax: number
}

const CHECKPOINT_INTERVAL_MS = 15_000
/** Starts a checkpoint early after a burst of writes, because a restart must replay them. */
const DIRTY_ROWS_MAX = 50_000

interface CheckpointLoopOptions {
  readonly store: Store
  readonly clock: Clock
  readonly log: Omit<Logger, 'debug'>
  readonly retention: LogRetention
}

/** Writes checkpoints and trims log entries beyond the retention. */
export class CheckpointLoop {
  readonly #options: CheckpointLoopOptions
  /** Samples of time and log index, for trimming by age without reading the log. */
  readonly #samples: { readonly timeMs: number; readonly index: number }[] = []
  #cancelTimer: () => void = () => undefined
  #unsubscribe: () => void = () => undefined
  #running: Promise<void> | undefined

  constructor(options: CheckpointLoopOptions) {
    this.#options = options
  }

  start(): void {
    const { store } = this.#options
    this.#scheduleNext()
    this.#unsubscribe = store.log.subscribe(() => {
      if (store.dirtyRows > DIRTY_ROWS_MAX) this.#run()
    })
  }

  async stop(): Promise<void> {
    this.#cancelTimer()
    this.#unsubscribe()
    await this.#running
  }

  #scheduleNext(): void {
    this.#cancelTimer = this.#options.clock.after(CHECKPOINT_INTERVAL_MS, () => {
      this.#run()
      this.#scheduleNext()
    })
  }

  #run(): void {
    this.#running ??= this.#runOnce()
      .catch((thrown: unknown) =>
        this.#options.log.error({ err: errorMessage(thrown) }, 'checkpoint failed; retrying'),
      )
      .finally(() => {
        this.#running = undefined
      })
  }

  async #runOnce(): Promise<void> {
    const { store, clock, retention } = this.#options
    if (store.fault !== undefined) return
    if (store.dirtyRows > 0) await store.checkpoint()
    const nowMs = clock.nowMs()
    this.#samples.push({ timeMs: nowMs, index: store.durableIndex })
    let trimIndex = store.durableIndex - retention.commitsMax
    while ((this.#samples[0]?.timeMs ?? nowMs) < nowMs - retention.ageMsMax)
      trimIndex = Math.max(trimIndex, this.#samples.shift()?.index ?? 0)
    if (trimIndex > store.log.firstIndex) await store.log.trim(trimIndex)
  }
}
