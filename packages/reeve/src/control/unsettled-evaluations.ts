import type { Evaluation } from '@reeve/contract'
import type { Store, TableObserver } from '../state/index.ts'

/**
 * Pending evaluations that are applied but not yet durable, so not yet in the queue. An inline
 * placement must not take the capacity of one with a higher priority.
 */
export class UndurableEvaluations implements TableObserver<'evaluations'> {
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
