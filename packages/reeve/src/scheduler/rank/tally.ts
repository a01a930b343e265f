import { compareText } from '../../kit/sorted-list.ts'

/** Counts nodes by a reason and by their class. */
export class Tally {
  readonly #reasons = new Map<string, number>()
  readonly #classes = new Map<string, number>()
  #total = 0

  get total(): number {
    return this.#total
  }

  add(reason: string, nodeClass: string): void {
    this.#change(reason, nodeClass, 1)
  }

  remove(reason: string, nodeClass: string): void {
    this.#change(reason, nodeClass, -1)
  }

  /** Both counted together. */
  with(other: Tally): Tally {
    const sum = new Tally()
    for (const tally of [this, other]) {
      sum.#total += tally.#total
      for (const [reason, count] of tally.#reasons) bump(sum.#reasons, reason, count)
      for (const [name, count] of tally.#classes) bump(sum.#classes, name, count)
    }
    return sum
  }

  has(reason: string): boolean {
    return this.#reasons.has(reason)
  }

  byReason(): Readonly<Record<string, number>> | undefined {
    return record(this.#reasons)
  }

  /** Nodes without a class are in no class. */
  byClass(): Readonly<Record<string, number>> | undefined {
    return record(this.#classes)
  }

  #change(reason: string, nodeClass: string, delta: 1 | -1): void {
    this.#total += delta
    bump(this.#reasons, reason, delta)
    if (nodeClass !== '') bump(this.#classes, nodeClass, delta)
  }
}

function bump(counts: Map<string, number>, name: string, delta: number): void {
  const count = (counts.get(name) ?? 0) + delta
  if (count === 0) counts.delete(name)
  else counts.set(name, count)
}

function record(counts: ReadonlyMap<string, number>): Readonly<Record<string, number>> | undefined {
  if (counts.size === 0) return undefined
  return Object.fromEntries([...counts].toSorted(([a], [b]) => compareText(a, b)))
}
