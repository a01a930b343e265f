import type { Job } from '@reeve/contract'
import { compareText } from '@reeve/kit/sorted-list.ts'
import type { Store, Table } from '../../state/index.ts'

/** A job in the order of changes; its row is read only when it is shown. */
export interface ChangedJob {
  readonly modifyIndex: number
  readonly key: string
  /** Index at which this entry was superseded or the job deleted; 0 while it is current. */
  readonly passedAt: number
  /** Common filter fields, read from the row once. */
  readonly facts: JobFacts
}

/** Fields of a job that are kept with the order. */
export type JobFacts = Pick<Job, (typeof JOB_FACTS)[number]>

export const JOB_FACTS = ['ID', 'Namespace', 'Name', 'Type', 'Status', 'Stop', 'Priority'] as const

/** Compares by newest change first; a commit may change several jobs. */
function compareChanges(
  a: Pick<ChangedJob, 'modifyIndex' | 'key'>,
  b: Pick<ChangedJob, 'modifyIndex' | 'key'>,
): number {
  return b.modifyIndex - a.modifyIndex || compareText(a.key, b.key)
}

/** The order at an index. Later changes do not affect it. */
export interface ChangeOrder {
  /**
   * Entries by oldest change first, including those superseded at or before `index`, which are
   * skipped.
   */
  readonly entries: readonly ChangedJob[]
  readonly count: number
  readonly index: number
}

/** Compact once superseded entries outnumber live ones by this margin. */
const PASSED_MIN = 1_024

/**
 * All jobs in the order of their changes. Sorted on first use; afterwards a changed job moves to
 * the end, so that the cost of a write or a page does not depend on the number of jobs.
 */
export class JobsByChange {
  readonly #jobs: Table<Job>
  #entries: Entry[] = []
  #places: Map<string, Entry> | undefined
  #isTold = false
  /** Entries from here on are in the order in which one commit wrote them, and unsorted. */
  #sortedTo = 0

  constructor({ tables }: Store) {
    this.#jobs = tables.jobs
  }

  get order(): ChangeOrder {
    if (this.#places === undefined) this.#begin()
    this.#sortTail()
    return { entries: this.#entries, count: this.#entries.length, index: this.#jobs.lastIndex }
  }

  #begin(): void {
    if (!this.#isTold) this.#jobs.onKey((key) => this.#changed(key))
    this.#isTold = true
    this.#entries = entriesOf(this.#jobs, this.#jobs.keys())
    this.#places = new Map(this.#entries.map((entry) => [entry.key, entry]))
    this.#sortedTo = this.#entries.length
  }

  #changed(key: string): void {
    const places = this.#places
    if (places === undefined) return
    const modifyIndex = this.#jobs.modifyIndexOf(key)
    const before = places.get(key)
    if (before !== undefined) before.passedAt = modifyIndex ?? this.#jobs.lastIndex
    places.delete(key)
    if (modifyIndex === undefined) return
    // A rolled-back change would have to return to its old position.
    if (modifyIndex < (this.#entries.at(-1)?.modifyIndex ?? 0)) {
      this.#places = undefined
      return
    }
    const entry = new Entry(this.#jobs, key, modifyIndex)
    places.set(key, entry)
    this.#entries.push(entry)
    if (this.#entries.length > 2 * places.size + PASSED_MIN) this.#dropPassed()
  }

  /** Copies the current entries to a new array: running walks continue on the old one. */
  #dropPassed(): void {
    this.#sortTail()
    this.#entries = this.#entries.filter((entry) => entry.passedAt === 0)
    this.#sortedTo = this.#entries.length
  }

  /**
   * Sorts the entries of the last commit. Orders handed out end before them: a commit is written in
   * one tick.
   */
  #sortTail(): void {
    if (this.#sortedTo === this.#entries.length) return
    const tail = this.#entries.slice(this.#sortedTo).toSorted((a, b) => compareChanges(b, a))
    for (const [i, entry] of tail.entries()) this.#entries[this.#sortedTo + i] = entry
    this.#sortedTo = this.#entries.length
  }
}

/** Returns the entries of the named jobs that exist. */
export function changedJobs({ tables: { jobs } }: Store, keys: Iterable<string>): ChangeOrder {
  const entries = entriesOf(jobs, keys)
  return { entries, count: entries.length, index: jobs.lastIndex }
}

function entriesOf(jobs: Table<Job>, keys: Iterable<string>): Entry[] {
  const found: Entry[] = []
  for (const key of keys) {
    const modifyIndex = jobs.modifyIndexOf(key)
    if (modifyIndex !== undefined) found.push(new Entry(jobs, key, modifyIndex))
  }
  return found.toSorted((a, b) => compareChanges(b, a))
}

class Entry implements ChangedJob {
  readonly #jobs: Table<Job>
  readonly key: string
  readonly modifyIndex: number
  passedAt = 0
  #facts: JobFacts | undefined

  constructor(jobs: Table<Job>, key: string, modifyIndex: number) {
    this.#jobs = jobs
    this.key = key
    this.modifyIndex = modifyIndex
  }

  get facts(): JobFacts {
    this.#facts ??= factsOf(this.#jobs.find(this.key))
    return this.#facts
  }
}

const NO_FACTS: JobFacts = {
  ID: '',
  Namespace: '',
  Name: '',
  Type: '',
  Status: 'dead',
  Stop: false,
  Priority: 0,
}

function factsOf(job: Job | undefined): JobFacts {
  if (job === undefined) return NO_FACTS
  const { ID, Namespace, Name, Type, Status, Stop, Priority } = job
  return { ID, Namespace, Name, Type, Status, Stop, Priority }
}

/** Walks from a position on (inclusive), newest change first or in reverse. */
export function* walkChanges(
  { entries, count, index }: ChangeOrder,
  start: Pick<ChangedJob, 'modifyIndex' | 'key'> | undefined,
  reverse: boolean,
): Generator<ChangedJob> {
  let at = reverse ? 0 : count - 1
  if (start !== undefined)
    at = reverse
      ? firstWhere(count, (i) => compareAt(entries, i, start) <= 0)
      : firstWhere(count, (i) => compareAt(entries, i, start) < 0) - 1
  for (; at >= 0 && at < count; at += reverse ? 1 : -1) {
    const entry = entries[at]
    if (entry !== undefined && (entry.passedAt === 0 || entry.passedAt > index)) yield entry
  }
}

function compareAt(
  entries: readonly ChangedJob[],
  at: number,
  start: Pick<ChangedJob, 'modifyIndex' | 'key'>,
): number {
  return compareChanges(entries[at] ?? start, start)
}

/** Returns the first position below `count` from which on `holds` is true. */
function firstWhere(count: number, holds: (at: number) => boolean): number {
  let [low, high] = [0, count]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (holds(middle)) high = middle
    else low = middle + 1
  }
  return low
}
