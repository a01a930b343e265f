import type { Evaluation } from '@reeve/contract'
import type { Store, TableObserver } from '../state/index.ts'

/**
 * Evaluations that are applied and wait, and that the broker has not heard of: it is told when they
 * are durable. Whoever decides at once must not take the room of one that matters more.
 */
export class Unheard implements TableObserver<'evaluations'> {
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

  /** The broker knows it from here on. */
  heard(id: string): void {
    this.#priorities.delete(id)
  }

  /**
   * Whether one of them comes before any with this priority. Those with the same one do not: they
   * came in the same moment, and under load one that waits would make all others wait.
   */
  comesBefore(priority: number): boolean {
    for (const other of this.#priorities.values()) if (other > priority) return true
    return false
  }
}
