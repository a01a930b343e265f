import type { Evaluation } from '@reeve/contract'
import type { Clock } from '@reeve/kit/clock.ts'
import { assert } from '@reeve/kit/fault.ts'
import { isBrokerPaused, type Store } from '../state/index.ts'
import type { EvaluationQueue } from '../workload/index.ts'
import { ReadyQueue, type DequeuedEvaluation } from './ready-queue.ts'
import { UndurableEvaluations } from './unsettled-evaluations.ts'

/**
 * Queue of evaluations for the scheduler of this server. Created once per server and enabled while
 * it leads; on a follower it is empty and rejects inline scheduling.
 */
export class EvaluationBroker implements EvaluationQueue {
  readonly #store: Store
  readonly #clock: Clock
  /** Undefined while the broker is disabled. */
  #queue: ReadyQueue | undefined
  /** Undefined until the broker is first enabled; followers do not need it. */
  #undurable: UndurableEvaluations | undefined

  constructor({ store, clock }: { readonly store: Store; readonly clock: Clock }) {
    this.#store = store
    this.#clock = clock
  }

  /** Starts queueing evaluations. Calls `wake` whenever one becomes due. */
  enable(wake: () => void): void {
    assert(this.#queue === undefined, 'one loop at a time takes evaluations')
    this.#queue = new ReadyQueue(this.#clock, wake)
    this.#undurable ??= new UndurableEvaluations(this.#store)
    this.#undurable.reset()
  }

  /** Empties the queue: another server leads, or this one stops. */
  disable(): void {
    this.#queue?.close()
    this.#queue = undefined
  }

  /** Queues a durable evaluation; no-op while the broker is disabled. */
  enqueue(evaluation: Evaluation): void {
    this.#undurable?.delete(evaluation.ID)
    this.#queue?.enqueue(evaluation)
  }

  /** True if an evaluation is ready and the broker is not paused. */
  get hasReady(): boolean {
    return this.#queue?.isReady === true && !isBrokerPaused(this.#store.tables)
  }

  /** Returns the next open evaluation; undefined if none is due or the broker is paused. */
  dequeue(): DequeuedEvaluation | undefined {
    const { tables } = this.#store
    if (isBrokerPaused(tables)) return undefined
    return this.#queue?.dequeue((id) => tables.evaluations.indexKeyOf('status', id) !== undefined)
  }

  mayScheduleInline(priority: number): boolean {
    if (this.#queue === undefined || this.#queue.isReady) return false
    if (isBrokerPaused(this.#store.tables)) return false
    return this.#undurable?.hasHigher(priority) !== true
  }
}
