/**
 * Whether the state may grow. Whoever watches the memory says when it is short, and why; requests
 * that add to the state are rejected with that reason, and the scheduler places nothing more.
 */
export class StateCapacity {
  #shortage: string | undefined
  #warning: string | undefined

  /** @param reason what runs short and what to do, while the state may still grow */
  setWarning(reason: string | undefined): void {
    this.#warning = reason
  }

  /** @param reason what is short and what to do; undefined when there is enough again */
  setShortage(reason: string | undefined): void {
    this.#shortage = reason
  }

  /** What runs short, or why the state may not grow; undefined while there is enough. */
  get warning(): string | undefined {
    return this.#shortage ?? this.#warning
  }

  /** Why the state may not grow; undefined when it may. */
  get shortage(): string | undefined {
    return this.#shortage
  }
}
