/**
 * The indexes of a group's allocation names (scheduling reference §6.4): new allocations take the
 * lowest free ones below the count, replacements keep theirs.
 */
export class NameIndex {
  readonly #count: number
  readonly #taken = new Set<number>()
  #lowest = 0

  constructor(count: number, taken: Iterable<number>) {
    this.#count = count
    for (const index of taken) this.#taken.add(index)
  }

  /** The given index when it is free and below the count, otherwise the lowest that is free. */
  take(preferred: number | undefined): number {
    const index =
      preferred !== undefined && this.#isFree(preferred) ? preferred : this.#lowestFree()
    this.#taken.add(index)
    return index
  }

  #isFree(index: number): boolean {
    return index >= 0 && index < this.#count && !this.#taken.has(index)
  }

  /** Indexes never become free again, so the search goes on where it ended. */
  #lowestFree(): number {
    while (this.#taken.has(this.#lowest)) this.#lowest += 1
    return this.#lowest
  }
}
