import type { Evaluation } from '@reeve/contract'
import type { Store, TableObserver } from '../state/index.ts'

/**
 * Pending evaluations that are applied and not durable yet, so that the queue does not have them.
 * An inline placement must not take the room of one with a higher priority.
 */
export class UnsettledEvaluations implements TableObserver<'evaluations'> {
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

  /** The queue has it from here on. */
  delete(id: string): void {
    this.#priorities.delete(id)
  }

  /**
   * Whether one of them has a higher priority. Those with the same one do not count: they came in
   * the same moment, and under load one that waits would make all others wait.
   */
  hasHigher(priority: number): boolean {
    for (const other of this.#priorities.values()) if (other > priority) return true
    return false
  }
}
