import type { Evaluation } from '@reeve/contract'
import type { Clock } from '../kit/clock.ts'
import { Heap } from '../kit/heap.ts'
import { compareText } from '../kit/sorted-list.ts'

interface Waiting {
  readonly id: string
  readonly priority: number
  readonly createIndex: number
}

/**
 * Evaluations that wait for the scheduler: the highest priority first, then the oldest. One that is
 * not due yet waits for its time. Adding one twice changes nothing.
 */
export class Broker {
  readonly #clock: Clock
  readonly #wake: () => void
  readonly #heap = new Heap<Waiting>(
    (a, b) => b.priority - a.priority || a.createIndex - b.createIndex || compareText(a.id, b.id),
  )
  readonly #ready = new Set<string>()
  readonly #timers = new Map<string, () => void>()

  constructor(clock: Clock, wake: () => void) {
    this.#clock = clock
    this.#wake = wake
  }

  get isReady(): boolean {
    return this.#heap.size > 0
  }

  add(evaluation: Evaluation): void {
    const { ID: id } = evaluation
    if (this.#ready.has(id)) return
    const delayMs = Date.parse(evaluation.WaitUntil) - this.#clock.nowMs()
    this.#timers.get(id)?.()
    this.#timers.delete(id)
    if (delayMs > 0) {
      this.#timers.set(
        id,
        this.#clock.after(delayMs, () => this.#push(evaluation)),
      )
      return
    }
    this.#push(evaluation)
  }

  /** The next one to carry out; undefined when none is due. */
  take(): string | undefined {
    const next = this.#heap.pop()
    if (next === undefined) return undefined
    this.#ready.delete(next.id)
    return next.id
  }

  close(): void {
    for (const cancel of this.#timers.values()) cancel()
    this.#timers.clear()
  }

  #push({ ID: id, Priority: priority, CreateIndex: createIndex }: Evaluation): void {
    this.#timers.delete(id)
    this.#ready.add(id)
    this.#heap.push({ id, priority, createIndex })
    this.#wake()
  }
}
