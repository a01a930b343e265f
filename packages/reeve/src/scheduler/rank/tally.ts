import { compareText } from '@reeve/kit/sorted-list.ts'

type Counts = Readonly<Record<string, number>> | null

/** Counts nodes by a reason and by their class. */
export class RejectionCounts {
  readonly #reasons = new Map<string, number>()
  readonly #classes = new Map<string, number>()
  #total = 0
  #version = 0
  /** Cached results: every allocation of a plan reads them, and they rarely change. */
  #reasonRecord: Counts | undefined
  #classRecord: Counts | undefined

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

  /** Returns the sum of both counts. */
  plus(other: RejectionCounts): RejectionCounts {
    const sum = new RejectionCounts()
    for (const tally of [this, other]) {
      sum.#total += tally.#total
      for (const [reason, count] of tally.#reasons) addCount(sum.#reasons, reason, count)
      for (const [name, count] of tally.#classes) addCount(sum.#classes, name, count)
    }
    return sum
  }

  has(reason: string): boolean {
    return this.#reasons.has(reason)
  }

  byReason(): Counts {
    if (this.#reasonRecord === undefined) this.#reasonRecord = toSortedRecord(this.#reasons)
    return this.#reasonRecord
  }

  /** Counts by class; nodes without a class are not included. */
  byClass(): Counts {
    if (this.#classRecord === undefined) this.#classRecord = toSortedRecord(this.#classes)
    return this.#classRecord
  }

  #change(reason: string, nodeClass: string, delta: 1 | -1): void {
    this.#total += delta
    this.#version += 1
    this.#reasonRecord = undefined
    this.#classRecord = undefined
    addCount(this.#reasons, reason, delta)
    if (nodeClass !== '') addCount(this.#classes, nodeClass, delta)
  }
}

function addCount(counts: Map<string, number>, name: string, delta: number): void {
  const count = (counts.get(name) ?? 0) + delta
  if (count === 0) counts.delete(name)
  else counts.set(name, count)
}

function toSortedRecord(counts: ReadonlyMap<string, number>): Counts {
  if (counts.size === 0) return null
  return Object.fromEntries([...counts].toSorted(([a], [b]) => compareText(a, b)))
}
