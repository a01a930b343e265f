/**
 * The indexes of a group's allocation names: new allocations take the lowest free ones below the
 * count, replacements keep theirs.
 */
export class NameIndex {
  readonly #count: number
  /** How many hold each index: two may, after a promotion for instance. */
  readonly #holders = new Map<number, number>()
  #lowest = 0

  constructor(count: number, taken: Iterable<number>) {
    this.#count = count
    for (const index of taken) this.#hold(index)
  }

  /** The given index when it is free and below the count, otherwise the lowest that is free. */
  take(preferred: number | undefined): number {
    const index =
      preferred !== undefined && this.#isFree(preferred) ? preferred : this.#lowestFree()
    this.#hold(index)
    return index
  }

  /** For who replaces a holder of the index: the same, or a free one when others hold it too. */
  succeed(index: number): number {
    const holders = this.#holders.get(index) ?? 0
    if (holders <= 1) return index
    this.#holders.set(index, holders - 1)
    return this.take(undefined)
  }

  #hold(index: number): void {
    this.#holders.set(index, (this.#holders.get(index) ?? 0) + 1)
  }

  #isFree(index: number): boolean {
    return index >= 0 && index < this.#count && !this.#holders.has(index)
  }

  /** Indexes never become free again, so the search goes on where it ended. */
  #lowestFree(): number {
    while (this.#holders.has(this.#lowest)) this.#lowest += 1
    return this.#lowest
  }
}
