/**
 * Whether the state may grow. The memory watcher sets the reason when memory is short; requests
 * that add to the state are then rejected with that reason, and the scheduler places no
 * allocations.
 */
export class StateCapacity {
  #shortage: string | undefined
  #warning: string | undefined

  /** @param reason which resource runs short and what to do, while the state may still grow */
  setWarning(reason: string | undefined): void {
    this.#warning = reason
  }

  /**
   * @param reason which resource is exhausted and what to do; undefined when there is enough again
   */
  setShortage(reason: string | undefined): void {
    this.#shortage = reason
  }

  /** Why memory runs short or the state may not grow; undefined if there is enough. */
  get warning(): string | undefined {
    return this.#shortage ?? this.#warning
  }

  /** Why the state may not grow; undefined if it may. */
  get shortage(): string | undefined {
    return this.#shortage
  }
}
