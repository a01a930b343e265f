/**
 * Whether the state may grow. Whoever watches the memory says when it is short, and why; requests
 * that add to the state are rejected with that reason, and the scheduler places nothing more.
 */
export class StateCapacity {
  #shortage: string | undefined

  /** @param reason what is short and what to do; undefined when there is enough again */
  setShortage(reason: string | undefined): void {
    this.#shortage = reason
  }

  /** Why the state may not grow; undefined when it may. */
  get shortage(): string | undefined {
    return this.#shortage
  }
}
