import type { Evaluation } from '@reeve/contract'
import type { Clock } from '@reeve/kit/clock.ts'
import { Heap } from '@reeve/kit/heap.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { namespacedKey } from '../state/index.ts'

interface Waiting {
  readonly id: string
  readonly job: string
  readonly priority: number
  readonly createIndex: number
  /** When it was queued: an evaluation whose plan was partial queues behind the others again. */
  readonly queuedIndex: number
  readonly isBlocked: boolean
}

/** An evaluation to carry out. */
export interface Due {
  readonly id: string
  /** Others of its job that waited too: the same run settles them. */
  readonly superseded: readonly string[]
}

/**
 * Evaluations that wait for the scheduler: the job with the highest priority first, then the one
 * that has waited longest. One that is not due yet waits for its time. Adding one twice changes
 * nothing.
 */
export class ReadyQueue {
  readonly #clock: Clock
  readonly #wake: () => void
  readonly #heap = new Heap<Waiting>(
    (a, b) => b.priority - a.priority || a.queuedIndex - b.queuedIndex || compareText(a.id, b.id),
  )
  readonly #ready = new Map<string, Map<string, Waiting>>()
  readonly #timers = new Map<string, () => void>()

  constructor(clock: Clock, wake: () => void) {
    this.#clock = clock
    this.#wake = wake
  }

  get isReady(): boolean {
    return this.#ready.size > 0
  }

  add(evaluation: Evaluation): void {
    const { ID: id } = evaluation
    if (this.#ready.get(jobOf(evaluation))?.has(id) === true) return
    const delayMs = Date.parse(evaluation.WaitUntil) - this.#clock.nowMs()
    this.#timers.get(id)?.()
    this.#timers.delete(id)
    if (delayMs > 0) this.#pushLater(evaluation, delayMs)
    else this.#push(evaluation)
  }

  /**
   * A timer that is fast, or a clock that was set back, ends the wait before the time has come, and
   * what the evaluation decides may depend on the time. It waits on, twice as long as it had to at
   * most: no clock delays it for ever.
   */
  #pushLater(evaluation: Evaluation, delayMs: number, patienceMs = 2 * delayMs): void {
    const cancel = this.#clock.after(delayMs, () => {
      const leftMs = Date.parse(evaluation.WaitUntil) - this.#clock.nowMs()
      const nextMs = Math.min(leftMs, patienceMs - delayMs)
      if (nextMs > 0) this.#pushLater(evaluation, nextMs, patienceMs - delayMs)
      else this.#push(evaluation)
    })
    this.#timers.set(evaluation.ID, cancel)
  }

  /**
   * The next one to carry out; undefined when none is due. A run decides from the state as it is,
   * so one run does for all evaluations of a job that wait: the newest of them, because whoever
   * changed the job last watches that one. What was ended while it waited is dropped.
   */
  take(isOpen: (id: string) => boolean): Due | undefined {
    for (let next = this.#heap.pop(); next !== undefined; next = this.#heap.pop()) {
      const ofJob = this.#ready.get(next.job)
      if (ofJob?.get(next.id) !== next) continue
      this.#ready.delete(next.job)
      const [first, ...others] = [...ofJob.values()].filter(({ id }) => isOpen(id))
      if (first === undefined) continue
      const chosen = others.reduce(preferred, first)
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
    const waiting: Waiting = {
      id: evaluation.ID,
      job: jobOf(evaluation),
      priority: evaluation.Priority,
      createIndex: CreateIndex,
      queuedIndex: isBlocked ? CreateIndex : Math.max(CreateIndex, ModifyIndex),
      isBlocked,
    }
    this.#timers.delete(waiting.id)
    const ofJob = this.#ready.get(waiting.job)
    if (ofJob === undefined) this.#ready.set(waiting.job, new Map([[waiting.id, waiting]]))
    else ofJob.set(waiting.id, waiting)
    this.#heap.push(waiting)
    this.#wake()
  }
}

function jobOf({ Namespace, JobID }: Evaluation): string {
  return namespacedKey(Namespace, JobID)
}

/** One that waited for room gives way to one that somebody asked for. */
function preferred(a: Waiting, b: Waiting): Waiting {
  if (a.isBlocked !== b.isBlocked) return a.isBlocked ? b : a
  return a.priority > b.priority || (a.priority === b.priority && a.createIndex > b.createIndex)
    ? a
    : b
}
