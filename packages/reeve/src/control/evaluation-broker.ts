import type { Evaluation } from '@reeve/contract'
import type { Clock } from '@reeve/kit/clock.ts'
import { assert } from '@reeve/kit/fault.ts'
import { isBrokerPaused, type Store } from '../state/index.ts'
import type { EvaluationQueue } from '../workload/index.ts'
import { ReadyQueue, type Due } from './ready-queue.ts'
import { UnsettledEvaluations } from './unsettled-evaluations.ts'

/**
 * The evaluations that wait for the scheduler of this server. It is created once for each server
 * and enabled while the server leads; on a follower it is empty and schedules nothing.
 */
export class EvaluationBroker implements EvaluationQueue {
  readonly #store: Store
  readonly #clock: Clock
  /** Undefined while the broker is disabled. */
  #ready: ReadyQueue | undefined
  /** Undefined until the broker is enabled first: a follower has no use for it. */
  #unsettled: UnsettledEvaluations | undefined

  constructor({ store, clock }: { readonly store: Store; readonly clock: Clock }) {
    this.#store = store
    this.#clock = clock
  }

  /** Begins to queue evaluations. Calls `wake` whenever one becomes due. */
  enable(wake: () => void): void {
    assert(this.#ready === undefined, 'one loop at a time takes evaluations')
    this.#ready = new ReadyQueue(this.#clock, wake)
    this.#unsettled ??= new UnsettledEvaluations(this.#store)
    this.#unsettled.reset()
  }

  /** Empties the queue: another server leads, or this one stops. */
  disable(): void {
    this.#ready?.close()
    this.#ready = undefined
  }

  /** Queues an evaluation that is durable; does nothing while the broker is disabled. */
  add(evaluation: Evaluation): void {
    this.#unsettled?.delete(evaluation.ID)
    this.#ready?.add(evaluation)
  }

  /** Whether there is an evaluation to take. */
  get hasDue(): boolean {
    return this.#ready?.isReady === true && !isBrokerPaused(this.#store.tables)
  }

  /** The next open one to carry out; undefined when none is due or an operator has paused it. */
  take(): Due | undefined {
    const { tables } = this.#store
    if (isBrokerPaused(tables)) return undefined
    return this.#ready?.take((id) => tables.evaluations.groupOf('status', id) !== undefined)
  }

  mayScheduleInline(priority: number): boolean {
    if (this.#ready === undefined || this.#ready.isReady) return false
    if (isBrokerPaused(this.#store.tables)) return false
    return this.#unsettled?.hasHigher(priority) !== true
  }
}
