import { setImmediate } from 'node:timers/promises'
import type { ListIndex } from './list-index.ts'
import type { TableName } from '../state/index.ts'

/** A list as whoever gets it ready sees it. */
type WarmList = Pick<ListIndex<TableName>, 'isReady' | 'takeTurn'>

/**
 * Gets lists ready after a start, a turn at a time: a hundred thousand rows take seconds, and
 * whoever asks for anything else must not wait for them.
 */
export class ListWarmer {
  readonly #lists: readonly WarmList[]
  #running: Promise<void> | undefined
  #isStopped = false

  constructor(lists: readonly WarmList[]) {
    this.#lists = lists
  }

  /** Undefined when all are ready. All who ask wait for the same work. */
  warm(): Promise<void> | undefined {
    if (this.#lists.every(({ isReady }) => isReady)) return undefined
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  /** What is not ready then is made so by whoever asks for it. */
  stop(): void {
    this.#isStopped = true
  }

  async #run(): Promise<void> {
    for (const list of this.#lists)
      while (!this.#isStopped && !list.takeTurn()) await setImmediate()
  }
}
