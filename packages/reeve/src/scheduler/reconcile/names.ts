/**
 * Name indexes of a group: new allocations take the lowest free ones below the count, replacements
 * keep theirs.
 */
export class AllocNameIndex {
  readonly #count: number
  /** Number of holders of each index; two are possible, for example after a promotion. */
  readonly #holders = new Map<number, number>()
  #searchStart = 0

  constructor(count: number, taken: Iterable<number>) {
    this.#count = count
    for (const index of taken) this.#addHolder(index)
  }

  /** Returns the given index if it is free and below the count, otherwise the lowest free one. */
  claim(preferred: number | undefined): number {
    const index =
      preferred !== undefined && this.#isFree(preferred) ? preferred : this.#lowestFree()
    this.#addHolder(index)
    return index
  }

  /**
   * Returns the index for the replacement of an allocation: its predecessor's, unless another
   * allocation also holds it.
   */
  inherit(index: number): number {
    const holders = this.#holders.get(index) ?? 0
    if (holders <= 1) return index
    this.#holders.set(index, holders - 1)
    return this.claim(undefined)
  }

  #addHolder(index: number): void {
    this.#holders.set(index, (this.#holders.get(index) ?? 0) + 1)
  }

  #isFree(index: number): boolean {
    return index >= 0 && index < this.#count && !this.#holders.has(index)
  }

  /** Indexes are not released, so the search continues where it ended. */
  #lowestFree(): number {
    while (this.#holders.has(this.#searchStart)) this.#searchStart += 1
    return this.#searchStart
  }
}
