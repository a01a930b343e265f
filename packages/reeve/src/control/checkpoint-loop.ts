import type { Clock } from '@reeve/kit/clock.ts'
import { errorMessage } from '@reeve/kit/fault.ts'
import type { Store } from '../state/index.ts'
import type { ControlLog } from './control-log.ts'

/** How much of the log outlives the checkpoint: it is the backlog of the event stream. */
export interface LogRetention {
  readonly ageMsMax: number
  readonly commitsMax: number
}

const CHECKPOINT_EVERY_MS = 15_000
/** Between two timers a burst may dirty a lot; a restart would have to replay all of it. */
const DIRTY_ROWS_MAX = 50_000

export interface CheckpointLoopOptions {
  readonly store: Store
  readonly clock: Clock
  readonly log: ControlLog
  readonly retention: LogRetention
}

/** Writes dirty rows once per round and forgets log entries that nobody can ask for any more. */
export class CheckpointLoop {
  readonly #options: CheckpointLoopOptions
  /** Where the log stood when: enough to trim by age without reading it. */
  readonly #marks: { readonly timeMs: number; readonly index: number }[] = []
  #cancelTimer: () => void = () => undefined
  #unsubscribe: () => void = () => undefined
  #running: Promise<void> | undefined

  constructor(options: CheckpointLoopOptions) {
    this.#options = options
  }

  start(): void {
    const { store } = this.#options
    this.#arm()
    this.#unsubscribe = store.log.subscribe(() => {
      if (store.dirtyRows > DIRTY_ROWS_MAX) this.#run()
    })
  }

  async stop(): Promise<void> {
    this.#cancelTimer()
    this.#unsubscribe()
    await this.#running
  }

  #arm(): void {
    this.#cancelTimer = this.#options.clock.after(CHECKPOINT_EVERY_MS, () => {
      this.#run()
      this.#arm()
    })
  }

  #run(): void {
    this.#running ??= this.#round()
      .catch((thrown: unknown) =>
        this.#options.log.error(
          { err: errorMessage(thrown) },
          'checkpoint failed; it is tried again',
        ),
      )
      .finally(() => {
        this.#running = undefined
      })
  }

  async #round(): Promise<void> {
    const { store, clock, retention } = this.#options
    if (store.fault !== undefined) return
    if (store.dirtyRows > 0) await store.checkpoint()
    const nowMs = clock.nowMs()
    this.#marks.push({ timeMs: nowMs, index: store.durableIndex })
    let before = store.durableIndex - retention.commitsMax
    while ((this.#marks[0]?.timeMs ?? nowMs) < nowMs - retention.ageMsMax)
      before = Math.max(before, this.#marks.shift()?.index ?? 0)
    if (before > store.log.firstIndex) await store.log.trim(before)
  }
}
