import type { Evaluation } from '@reeve/contract'
import type { Clock } from '@reeve/kit/clock.ts'
import { assert } from '@reeve/kit/fault.ts'
import { Heap } from '@reeve/kit/heap.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { isBrokerPaused, namespacedKey, type Store, type TableObserver } from '../state/index.ts'
import type { EvaluationQueue } from '../workload/index.ts'

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

interface QueuedEvaluation {
  readonly id: string
  readonly jobKey: string
  readonly priority: number
  readonly createIndex: number
  /** Position in the queue: an evaluation with a partial plan queues again behind the others. */
  readonly queuedIndex: number
  readonly isBlocked: boolean
}

/** An evaluation to process. */
export interface DequeuedEvaluation {
  readonly id: string
  /** Other queued evaluations of its job, completed by the same run. */
  readonly superseded: readonly string[]
}

/**
 * Queue of evaluations: highest priority first, then longest waiting. Evaluations with a future
 * `WaitUntil` are added when due. Adding one twice has no effect.
 */
export class ReadyQueue {
  readonly #clock: Clock
  readonly #wake: () => void
  readonly #heap = new Heap<QueuedEvaluation>(
    (a, b) => b.priority - a.priority || a.queuedIndex - b.queuedIndex || compareText(a.id, b.id),
  )
  readonly #readyByJob = new Map<string, Map<string, QueuedEvaluation>>()
  readonly #timers = new Map<string, () => void>()

  constructor(clock: Clock, wake: () => void) {
    this.#clock = clock
    this.#wake = wake
  }

  get isReady(): boolean {
    return this.#readyByJob.size > 0
  }

  enqueue(evaluation: Evaluation): void {
    const { ID: id } = evaluation
    if (this.#readyByJob.get(jobKeyOf(evaluation))?.has(id) === true) return
    const delayMs = Date.parse(evaluation.WaitUntil) - this.#clock.nowMs()
    this.#timers.get(id)?.()
    this.#timers.delete(id)
    if (delayMs > 0) this.#pushWhenDue(evaluation, delayMs)
    else this.#push(evaluation)
  }

  /**
   * Waits again if the timer fired before `WaitUntil`, because the decision may depend on the time.
   * The total wait is at most twice the original delay, so no clock change blocks it forever.
   */
  #pushWhenDue(evaluation: Evaluation, delayMs: number, maxWaitMs = 2 * delayMs): void {
    const cancel = this.#clock.after(delayMs, () => {
      const remainingMs = Date.parse(evaluation.WaitUntil) - this.#clock.nowMs()
      const nextMs = Math.min(remainingMs, maxWaitMs - delayMs)
      if (nextMs > 0) this.#pushWhenDue(evaluation, nextMs, maxWaitMs - delayMs)
      else this.#push(evaluation)
    })
    this.#timers.set(evaluation.ID, cancel)
  }

  /**
   * Returns the next evaluation; undefined if none is due. One run completes all queued evaluations
   * of a job: the newest is processed, because its creator watches it. Evaluations that ended while
   * queued are dropped.
   */
  dequeue(isOpen: (id: string) => boolean): DequeuedEvaluation | undefined {
    for (let next = this.#heap.pop(); next !== undefined; next = this.#heap.pop()) {
      const readyOfJob = this.#readyByJob.get(next.jobKey)
      if (readyOfJob?.get(next.id) !== next) continue
      this.#readyByJob.delete(next.jobKey)
      const [first, ...others] = [...readyOfJob.values()].filter(({ id }) => isOpen(id))
      if (first === undefined) continue
      const chosen = others.reduce(moreRecentRequest, first)
      return {
        id: chosen.id,
        superseded: [first, ...others]
          .filter((one) => one !== chosen && !one.isBlocked)
          .map((one) => one.id),
      }
    }
    return undefined
  }

  close(): void {
    for (const cancel of this.#timers.values()) cancel()
    this.#timers.clear()
  }

  #push(evaluation: Evaluation): void {
    const { CreateIndex, ModifyIndex } = evaluation
    const isBlocked = evaluation.Status === 'blocked'
    const queued: QueuedEvaluation = {
      id: evaluation.ID,
      jobKey: jobKeyOf(evaluation),
      priority: evaluation.Priority,
      createIndex: CreateIndex,
      queuedIndex: isBlocked ? CreateIndex : Math.max(CreateIndex, ModifyIndex),
      isBlocked,
    }
    this.#timers.delete(queued.id)
    const readyOfJob = this.#readyByJob.get(queued.jobKey)
    if (readyOfJob === undefined)
      this.#readyByJob.set(queued.jobKey, new Map([[queued.id, queued]]))
    else readyOfJob.set(queued.id, queued)
    this.#heap.push(queued)
    this.#wake()
  }
}

function jobKeyOf({ Namespace, JobID }: Evaluation): string {
  return namespacedKey(Namespace, JobID)
}

/** A blocked evaluation yields to a requested one. */
function moreRecentRequest(a: QueuedEvaluation, b: QueuedEvaluation): QueuedEvaluation {
  if (a.isBlocked !== b.isBlocked) return a.isBlocked ? b : a
  return a.priority > b.priority || (a.priority === b.priority && a.createIndex > b.createIndex)
    ? a
    : b
}

/**
 * Pending evaluations that are applied but not yet durable, so not yet in the queue. An inline
 * placement must not take the capacity of one with a higher priority.
 */
class UndurableEvaluations implements TableObserver<'evaluations'> {
  readonly #priorities = new Map<string, number>()

  constructor(store: Store) {
    store.observe('evaluations', this)
  }

  changed(before: Evaluation | undefined, after: Evaluation | undefined): void {
    if (after?.Status === 'pending') this.#priorities.set(after.ID, after.Priority)
    else if (before !== undefined) this.#priorities.delete(before.ID)
  }

  reset(): void {
    this.#priorities.clear()
  }

  /** Removes an evaluation that is now in the queue. */
  delete(id: string): void {
    this.#priorities.delete(id)
  }

  /**
   * True if one has a higher priority. Equal priority does not count: under load, every
   * registration would wait.
   */
  hasHigher(priority: number): boolean {
    for (const other of this.#priorities.values()) if (other > priority) return true
    return false
  }
}
