/**
 * The texts that were made last, or what else is made of a row, by the row they were made from: who
 * watches an allocation reads it again and again, and a row is another object when it has changed.
 */
export class RecentTexts<Row extends object, Made = string> {
  readonly #max: number
  readonly #make: (row: Row) => Made
  readonly #texts = new Map<Row, Made>()

  constructor(max: number, make: (row: Row) => Made) {
    this.#max = max
    this.#make = make
  }

  of(row: Row): Made {
    const known = this.#texts.get(row)
    if (known !== undefined) return known
    const text = this.#make(row)
    if (this.#texts.size >= this.#max) this.#forgetOldest()
    this.#texts.set(row, text)
    return text
  }

  /** A map walks its keys in the order in which they came. */
  #forgetOldest(): void {
    const [oldest] = this.#texts.keys()
    if (oldest !== undefined) this.#texts.delete(oldest)
  }
}
