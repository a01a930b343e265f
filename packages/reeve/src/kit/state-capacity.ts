/** What may be short. */
export type Resource = 'memory' | 'disk'

/**
 * Whether the state may grow. Whoever watches a resource says when it is short, and why; requests
 * that add to the state are rejected with these reasons, and the scheduler places nothing more.
 */
export class StateCapacity {
  readonly #shortages = new Map<Resource, string>()

  /** @param reason what is short and what to do; undefined when there is enough again */
  setShortage(resource: Resource, reason: string | undefined): void {
    if (reason === undefined) this.#shortages.delete(resource)
    else this.#shortages.set(resource, reason)
  }

  /** Why the state may not grow; undefined when it may. */
  get shortage(): string | undefined {
    return this.#shortages.size === 0 ? undefined : [...this.#shortages.values()].join('; ')
  }
}
