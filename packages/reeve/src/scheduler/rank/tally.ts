import { compareText } from '@reeve/kit/sorted-list.ts'

type Counts = Readonly<Record<string, number>> | null

/** Counts nodes by a reason and by their class. */
export class Tally {
  readonly #reasons = new Map<string, number>()
  readonly #classes = new Map<string, number>()
  #total = 0
  #version = 0
  /** What was last told: every allocation of a plan tells it, and it rarely changes. */
  #byReason: Counts | undefined
  #byClass: Counts | undefined

  /** Changes whenever a count does. */
  get version(): number {
    return this.#version
  }

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

  byReason(): Counts {
    if (this.#byReason === undefined) this.#byReason = record(this.#reasons)
    return this.#byReason
  }

  /** Nodes without a class are in no class. */
  byClass(): Counts {
    if (this.#byClass === undefined) this.#byClass = record(this.#classes)
    return this.#byClass
  }

  #change(reason: string, nodeClass: string, delta: 1 | -1): void {
    this.#total += delta
    this.#version += 1
    this.#byReason = undefined
    this.#byClass = undefined
    bump(this.#reasons, reason, delta)
    if (nodeClass !== '') bump(this.#classes, nodeClass, delta)
  }
}

function bump(counts: Map<string, number>, name: string, delta: number): void {
  const count = (counts.get(name) ?? 0) + delta
  if (count === 0) counts.delete(name)
  else counts.set(name, count)
}

function record(counts: ReadonlyMap<string, number>): Counts {
  if (counts.size === 0) return null
  return Object.fromEntries([...counts].toSorted(([a], [b]) => compareText(a, b)))
}
