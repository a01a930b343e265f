import { setImmediate } from 'node:timers/promises'
import type { ListIndex } from './list-index.ts'
import type { TableName } from '../state/index.ts'

/** A list, as seen by the warmer. */
type WarmableList = Pick<ListIndex<TableName>, 'isReady' | 'indexNextBatch'>

/**
 * Builds the list indexes after a start in small turns: a hundred thousand rows take seconds, and
 * other requests must not wait for them.
 */
export class ListWarmer {
  readonly #lists: readonly WarmableList[]
  #running: Promise<void> | undefined
  #isStopped = false

  constructor(lists: readonly WarmableList[]) {
    this.#lists = lists
  }

  /** Undefined if all are complete. Concurrent callers share the same work. */
  warm(): Promise<void> | undefined {
    if (this.#lists.every(({ isReady }) => isReady)) return undefined
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  /** Stops building. The first request that needs an incomplete index finishes it synchronously. */
  stop(): void {
    this.#isStopped = true
  }

  async #run(): Promise<void> {
    for (const list of this.#lists)
      while (!this.#isStopped && !list.indexNextBatch()) await setImmediate()
  }
}
