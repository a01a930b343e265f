import { Fault, OVERLOADED } from '../kit/fault.ts'

/**
 * Lets one question of each kind go at a time: many of one kind do not hold up a single one of
 * another, and the second is sent where it belongs when the first has shown that it is slow.
 */
export class Turns {
  /** Who waits for those that have the turn now. */
  readonly #waiting = new Map<string, (() => void)[]>()

  /** Asks when its turn has come; throws a fault where it would be one of more than `most`. */
  async take<T>(key: string, most: number, ask: () => Promise<T>): Promise<T> {
    await this.#come(key, most)
    try {
      return await ask()
    } finally {
      this.#leave(key)
    }
  }

  #come(key: string, most: number): Promise<void> | undefined {
    const before = this.#waiting.get(key)
    if (before !== undefined && before.length + 1 >= most)
      throw new Fault(
        OVERLOADED,
        `${before.length + 1} questions wait for the same policies; try again`,
      )
    if (before !== undefined) return new Promise((resume) => before.push(resume))
    this.#waiting.set(key, [])
    return undefined
  }

  #leave(key: string): void {
    const next = this.#waiting.get(key)?.shift()
    if (next === undefined) this.#waiting.delete(key)
    else next()
  }
}
